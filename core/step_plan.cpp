#include "core/step_plan.h"

#include <algorithm>

#include "core/message_plan.h"
#include "core/stage_builder.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

// One forward or backward pass of a micro-batch.
struct Pass {
  bool forward = true;
  int micro_step = 0;
};

// 1F1B: a stage begins with as many forward passes as there are stages behind it.
std::vector<Pass> passes_of(const TrainingStep& step, int stage) {
  const int ahead = std::min(step.pipeline - 1 - stage, step.accumulation);
  std::vector<Pass> passes;
  for (int m = 0; m < ahead; ++m) passes.push_back({true, m});
  for (int m = 0; m < step.accumulation; ++m) {
    if (m + ahead < step.accumulation) passes.push_back({true, m + ahead});
    passes.push_back({false, m});
  }
  return passes;
}

// Stages in turns, each as far as it gets, so that what waits stands behind what it waits for.
void add_passes(const TrainingStep& step, std::vector<StageBuilder>& builders) {
  std::vector<std::vector<Pass>> left;
  for (int stage = 0; stage < step.pipeline; ++stage) {
    left.push_back(passes_of(step, stage));
    std::reverse(left.back().begin(), left.back().end());
  }
  for (bool more = true; more;) {
    more = false;
    for (int stage = 0; stage < step.pipeline; ++stage) {
      auto& passes = left[static_cast<std::size_t>(stage)];
      while (!passes.empty()) {
        const Pass pass = passes.back();
        const int from = pass.forward ? stage - 1 : stage + 1;
        const bool alone = from < 0 || from == step.pipeline;
        const int input =
            alone ? -1
                  : builders[static_cast<std::size_t>(from)].sent(pass.forward, pass.micro_step);
        if (!alone && input < 0) break;
        StageBuilder& builder = builders[static_cast<std::size_t>(stage)];
        if (pass.forward) {
          builder.add_forward(pass.micro_step, input);
        } else {
          builder.add_backward(pass.micro_step, input);
        }
        passes.pop_back();
        more = true;
      }
    }
  }
}

std::string pass_name(const StepPlan& plan, const StepOperation& operation) {
  const auto& tensors = plan.stages[static_cast<std::size_t>(operation.stage)].tensors;
  const ParameterTensor& tensor = tensors[static_cast<std::size_t>(operation.item)];
  const bool transformer = tensor.role < TensorRole::kBottomMlp;
  if (transformer && tensor.layer >= 0) return "layers." + std::to_string(tensor.layer);
  return tensor.name;
}

}  // namespace

std::vector<StageModel> stage_models(const TrainingStep& step) {
  std::vector<StageModel> stages(static_cast<std::size_t>(step.pipeline));
  const auto stage_of = [&step](const ParameterTensor& tensor) -> std::size_t {
    if (step.pipeline == 1 || tensor.role == TensorRole::kEmbedding) return 0;
    const auto last = static_cast<std::size_t>(step.pipeline) - 1;
    if (tensor.layer < 0) return last;
    std::size_t stage = last;
    while (
        part_of({0, step.model.transformer.layers}, static_cast<int>(stage), step.pipeline).first >
        tensor.layer) {
      --stage;
    }
    return stage;
  };
  for (ParameterTensor tensor : parameter_tensors(step.model)) {
    const std::size_t stage = stage_of(tensor);
    if (is_split(tensor.role)) {
      tensor.parameters = (tensor.parameters + step.tensor - 1) / step.tensor;
    }
    stages[stage].tensors.push_back(std::move(tensor));
  }
  for (StageModel& stage : stages) {
    std::vector<std::int64_t> ready;
    for (const ParameterTensor& tensor : stage.tensors) ready.push_back(tensor.parameters);
    std::reverse(ready.begin(), ready.end());
    stage.buckets = fill_buckets(ready, size_of(step.gradient_datatype), step.buckets);
    if (step.sharding != Sharding::kZero3) continue;
    BucketSettings whole = step.buckets;
    whole.split_tensors = false;
    stage.units = fill_buckets(ready, size_of(parameter_datatype(step)), whole);
  }
  return stages;
}

StepPlan plan_step(const TrainingStep& step, const GpuModel& gpu, int ranks) {
  StepPlan plan;
  plan.layout = step.layout(ranks);
  plan.stages = stage_models(step);
  const StepCompute compute(step, gpu);
  std::vector<StageBuilder> builders;
  for (int stage = 0; stage < step.pipeline; ++stage) {
    builders.emplace_back(step, compute, plan, stage);
  }
  add_passes(step, builders);
  for (StageBuilder& builder : builders) builder.add_optimizer();
  return plan;
}

std::string operation_name(const StepPlan& plan, const StepOperation& operation) {
  const std::string item = std::to_string(operation.item);
  switch (operation.purpose) {
    case StepPurpose::kForward:
      return "forward " + pass_name(plan, operation);
    case StepPurpose::kBackward:
      return "backward " + pass_name(plan, operation);
    case StepPurpose::kRecompute:
      return "forward again " + pass_name(plan, operation);
    case StepPurpose::kLookup:
      return "table lookup";
    case StepPurpose::kUpdate:
      return "table update";
    case StepPurpose::kOptimizer:
      return "optimizer";
    case StepPurpose::kSumActivations:
      return "all_reduce activations " + pass_name(plan, operation);
    case StepPurpose::kSumActivationGradients:
      return "all_reduce activation gradients " + pass_name(plan, operation);
    case StepPurpose::kSendActivations:
      return "send activations";
    case StepPurpose::kSendActivationGradients:
      return "send activation gradients";
    case StepPurpose::kReduceBucket: {
      const auto& traffic = plan.traffics[static_cast<std::size_t>(operation.traffic)];
      return std::string(name_of(traffic.collective)) + " bucket " + item;
    }
    case StepPurpose::kGatherUnit:
      return "all_gather parameters " + item;
    case StepPurpose::kExchangeVectors:
      return "all_to_all vectors";
    case StepPurpose::kExchangeVectorGradients:
      return "all_to_all vector gradients";
  }
  return "";
}

}  // namespace gradhaul
