#include "core/step_compute.h"

#include <cmath>

#include "core/assert.h"

namespace gradhaul {
namespace {

// Beside the matrices: what a tensor's layer does between vectors.
double pairwise_flops(const TrainingStep& step, const ParameterTensor& tensor) {
  const auto samples = static_cast<double>(step.micro_batch);
  if (tensor.role == TensorRole::kAttentionOut) {
    const auto length = static_cast<double>(step.sequence_length);
    return 4 * samples * length * length * static_cast<double>(step.model.transformer.hidden);
  }
  if (tensor.role == TensorRole::kTopMlp && tensor.layer == 0) {
    const RecommenderShape& shape = step.model.recommender;
    const std::int64_t products = interaction_width(shape) - shape.embedding_dimension;
    return 2 * samples * static_cast<double>(products * shape.embedding_dimension);
  }
  return 0;
}

std::int64_t items(const TrainingStep& step) {
  const bool tokens = step.model.kind == ModelKind::kTransformer;
  return step.micro_batch * (tokens ? step.sequence_length : 1);
}

std::int64_t vector_bytes(const TrainingStep& step) {
  const RecommenderShape& shape = step.model.recommender;
  return step.micro_batch * static_cast<std::int64_t>(shape.embedding_rows.size()) *
         shape.embedding_dimension * size_of(parameter_datatype(step)).count;
}

}  // namespace

double StepCompute::forward_flops(const ParameterTensor& tensor) const {
  const double products =
      2 * static_cast<double>(items(step_)) * static_cast<double>(tensor.multiplied);
  return (products + pairwise_flops(step_, tensor)) / step_.tensor;
}

Duration StepCompute::forward(const ParameterTensor& tensor) const {
  return of_flops(forward_flops(tensor));
}

Duration StepCompute::backward(const ParameterTensor& tensor) const {
  return of_flops(2 * forward_flops(tensor));
}

Duration StepCompute::optimizer(std::int64_t parameters) const {
  const std::int64_t gradient = size_of(step_.gradient_datatype).count;
  const std::int64_t parameter = size_of(parameter_datatype(step_)).count;
  const bool adam = step_.model.kind == ModelKind::kTransformer;
  return of_memory(parameters * (gradient + parameter + (adam ? 2 * kOptimizerBytes : parameter)));
}

Duration StepCompute::table_lookup() const { return of_memory(2 * vector_bytes(step_)); }

Duration StepCompute::table_update() const { return of_memory(3 * vector_bytes(step_)); }

Duration StepCompute::of_flops(double flops) const {
  if (gpu_.tensor_flops == kUnlimitedFlops) return {};
  GRADHAUL_ASSERT(gpu_.tensor_flops > 0, "the GPU's peak is known");
  const double rate = static_cast<double>(gpu_.tensor_flops) * step_.efficiency;
  return {std::llround(flops / rate * 1e12)};
}

Duration StepCompute::of_memory(std::int64_t bytes) const {
  return serialisation_time(Bytes{bytes}, gpu_.memory_bandwidth);
}

double model_flops(const TrainingStep& step, int ranks) {
  double flops = 0;
  for (const ParameterTensor& tensor : parameter_tensors(step.model)) {
    flops += 2 * static_cast<double>(items(step)) * static_cast<double>(tensor.multiplied) +
             pairwise_flops(step, tensor);
  }
  return 3 * flops * step.accumulation * step.layout(ranks).data;
}

}  // namespace gradhaul
