#pragma once

// A training step as operations: what each pipeline stage computes and sends, in which order, and
// what waits for what. All ranks of a stage do the same at the same time, so that operations are
// those of stages, and an operation that communicates is one collective in each of the stage's
// groups of that kind.
//
// Compute of a stage is one after the other. Micro-steps follow each other as forward, backward;
// in a pipeline as one forward, one backward (1F1B) [Narayanan et al., SC 2021, section 2.2].
//
//   tensor    an all_reduce of the activations (b s h elements) behind each attention and each
//             feed-forward block, and of their gradients before them: four a layer [Shoeybi et al.,
//             "Megatron-LM", arXiv 1909.08053, section 3]; the embedding's output and the gradient
//             at the output layer likewise. Compute waits for each.
//   pipeline  activations to the next stage, their gradients to the one before.
//   data      of each bucket, as its gradients are ready in the last micro-step: an all_reduce
//             (none), or a reduce_scatter (zero1). The optimizer waits for all; zero1 all-gathers
//             each bucket's parameters after it. zero3 all-gathers each unit of parameters (tensors
//             put together by the rule of buckets) before its forward and its backward pass, two
//             units ahead of compute at most, and reduce-scatters its gradients in each micro-step.
//   all       of a recommender: an all_to_all of looked-up vectors beside the bottom MLP, and of
//             their gradients back.
//
// Without overlap buckets wait for the end of the backward pass, and zero3's collectives keep
// compute waiting.

#include <cstdint>
#include <string>
#include <vector>

#include "core/gradient_buckets.h"
#include "core/step_compute.h"

namespace gradhaul {

// What of a stage follows each other: compute, and one lane for each of its communicators.
enum class StepLane : std::uint8_t {
  kCompute,
  kTensor,
  kPipelineForward,
  kPipelineBackward,
  kData,
  kAll,
};
inline constexpr int kStepLanes = 6;

enum class StepPurpose : std::uint8_t {
  kForward,
  kBackward,
  kRecompute,
  kLookup,
  kUpdate,
  kOptimizer,
  kSumActivations,
  kSumActivationGradients,
  kSendActivations,
  kSendActivationGradients,
  kReduceBucket,
  kGatherUnit,
  kExchangeVectors,
  kExchangeVectorGradients,
};

// A message that operations send alike.
struct StepTraffic {
  int stage = 0;  // its groups: of kPipeline between this stage and the next
  GroupKind groups = GroupKind::kData;
  StepLane lane = StepLane::kData;
  Collective collective = Collective::kAllReduce;  // kBroadcast: from one stage to the next
  DataType datatype = DataType::kBf16;
  Bytes size;  // of each rank's message, as nccl-tests counts it
  friend bool operator==(const StepTraffic&, const StepTraffic&) = default;
};

struct StepOperation {
  int stage = 0;  // that computes or sends
  StepLane lane = StepLane::kCompute;
  StepPurpose purpose = StepPurpose::kForward;
  int micro_step = 0;
  int item = 0;            // a tensor of the stage, the first of several; or a bucket or unit
  Duration work;           // kCompute: at full speed
  int traffic = -1;        // else: index
  std::vector<int> after;  // beside the one before in its lane; indices, lower than its own
};

struct StageModel {
  std::vector<ParameterTensor> tensors;  // what one rank holds of them, in forward order
  // Parts name tensors by their place from the end, as they become ready.
  std::vector<GradientBucket> buckets;
  std::vector<GradientBucket> units;  // zero3
};

struct StepPlan {
  ParallelLayout layout;
  std::vector<StageModel> stages;
  std::vector<StepTraffic> traffics;
  std::vector<StepOperation> operations;
};

// What a rank of each stage holds: layers in nearly equal parts, the embedding in the first and the
// output layer in the last stage.
std::vector<StageModel> stage_models(const TrainingStep& step);

// The step is a checked one: its degrees divide ranks and shapes (scenarios/training_reader.cpp).
StepPlan plan_step(const TrainingStep& step, const GpuModel& gpu, int ranks);

// "backward layers.3", "all_reduce bucket 4".
std::string operation_name(const StepPlan& plan, const StepOperation& operation);

}  // namespace gradhaul
