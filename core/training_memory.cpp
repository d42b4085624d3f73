#include "core/training_memory.h"

#include <algorithm>
#include <numeric>

namespace gradhaul {
namespace {

std::int64_t divided(std::int64_t whole, std::int64_t parts) { return (whole + parts - 1) / parts; }

// Of one micro-batch; layers and output layer of this stage.
std::int64_t activation_bytes(const TrainingStep& step, const StageModel& stage) {
  const TransformerShape& shape = step.model.transformer;
  const std::int64_t vectors = step.sequence_length * step.micro_batch;
  const std::int64_t layer =
      vectors * shape.hidden * 10 + vectors * shape.hidden * 24 / step.tensor;
  std::int64_t layers = 0;
  bool head = false;
  for (const ParameterTensor& tensor : stage.tensors) {
    if (tensor.role == TensorRole::kAttentionOut) ++layers;
    if (tensor.role == TensorRole::kHead) head = true;
  }
  const std::int64_t logits = head ? 4 * vectors * shape.vocabulary / step.tensor : 0;
  if (!step.recompute) return layers * layer + logits;
  return layers * 2 * vectors * shape.hidden + logits;
}

// Inputs of every layer and the pooled vectors, in 32 bits.
std::int64_t recommender_activations(const TrainingStep& step) {
  const RecommenderShape& shape = step.model.recommender;
  std::int64_t values = shape.dense_features + interaction_width(shape);
  values += static_cast<std::int64_t>(shape.embedding_rows.size()) * shape.embedding_dimension;
  for (const std::int64_t width : shape.bottom_mlp) values += width;
  for (const std::int64_t width : shape.top_mlp) values += width;
  return 4 * values * step.micro_batch;
}

Bytes activations_of(const TrainingStep& step, const StageModel& model, int stage) {
  if (step.model.kind == ModelKind::kRecommender) return {recommender_activations(step)};
  const int on_their_way = std::min(step.accumulation, step.pipeline - stage);
  std::int64_t bytes = activation_bytes(step, model) * on_their_way;
  if (step.recompute) {
    const TransformerShape& shape = step.model.transformer;
    const std::int64_t vectors = step.sequence_length * step.micro_batch;
    bytes += vectors * shape.hidden * 10 + vectors * shape.hidden * 24 / step.tensor;
  }
  return {bytes};
}

}  // namespace

StepMemory step_memory(const TrainingStep& step, const ParallelLayout& layout,
                       const StageModel& model, int stage) {
  std::int64_t parameters = 0;
  for (const ParameterTensor& tensor : model.tensors) parameters += tensor.parameters;
  const int shared_by = step.sharding == Sharding::kNone ? 1 : layout.data;
  const int all_shared_by = step.sharding == Sharding::kZero3 ? shared_by : 1;
  const Bytes parameter = size_of(parameter_datatype(step));
  StepMemory memory;
  memory.parameters = parameter * divided(parameters, all_shared_by);
  memory.gradients = size_of(step.gradient_datatype) * divided(parameters, all_shared_by);
  if (step.model.kind == ModelKind::kTransformer) {
    memory.optimizer = Bytes{kOptimizerBytes} * divided(parameters, shared_by);
  } else {
    // Plain gradient descent has no state.
    const auto& rows = step.model.recommender.embedding_rows;
    const std::int64_t elements = std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) *
                                  step.model.recommender.embedding_dimension;
    memory.parameters += parameter * divided(elements, layout.ranks());
  }
  if (step.sharding == Sharding::kZero3) {
    std::int64_t largest = 0;
    for (const GradientBucket& unit : model.units) largest = std::max(largest, unit.elements);
    memory.gathered = parameter * (2 * largest);
  }
  memory.activations = activations_of(step, model, stage);
  return memory;
}

}  // namespace gradhaul
