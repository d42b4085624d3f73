#pragma once

// One step of training, as a scenario asks for it: a model, what each GPU computes, how the model
// and its state are spread over the ranks, and how gradients are put into buckets.

#include <cstdint>

#include "core/parallel_groups.h"
#include "core/quantities.h"
#include "core/trained_model.h"
#include "core/workload.h"

namespace gradhaul {

// What data-parallel ranks divide among themselves [Rajbhandari et al., "ZeRO", SC 2020].
enum class Sharding : std::uint8_t {
  kNone,   // nothing: gradients are all-reduced, as PyTorch's DistributedDataParallel does
  kZero1,  // the optimizer's state: gradients are reduce-scattered, new parameters all-gathered
  kZero3,  // everything: parameters are all-gathered before each use, too, as in FSDP
};

struct BucketSettings {
  Bytes size{25 * 1024 * 1024};
  Bytes first{1024 * 1024};
  bool split_tensors = false;  // cut to size wherever that is, instead of behind whole tensors
};

struct TrainingStep {
  TrainedModel model;
  std::int64_t sequence_length = 4096;  // tokens; of a transformer
  std::int64_t micro_batch = 1;         // sequences, or samples, of a replica in one micro-step
  int accumulation =
      1;  // micro-steps before the gradients are reduced; micro-batches of a pipeline
  DataType gradient_datatype = DataType::kBf16;
  Sharding sharding = Sharding::kNone;
  BucketSettings buckets;
  bool overlap = true;     // buckets travel beside the backward pass
  bool recompute = false;  // activations are computed again in the backward pass
  int tensor = 1;
  int pipeline = 1;
  double efficiency = 0.45;       // what matrix products reach of the GPU's peak
  bool shared_processors = true;  // kernels of collectives take multiprocessors from compute

  ParallelLayout layout(int ranks) const { return {tensor, ranks / (tensor * pipeline), pipeline}; }
};

// Parameters and activations are 16-bit floats in a transformer, 32-bit ones in a recommender.
constexpr DataType parameter_datatype(const TrainingStep& step) {
  return step.model.kind == ModelKind::kTransformer ? DataType::kBf16 : DataType::kFp32;
}

}  // namespace gradhaul
