#pragma once

// What a training step keeps in the memory of one GPU. Of P parameters, in mixed precision with
// Adam [Rajbhandari et al., "ZeRO", SC 2020, section 3 and figure 1], N data-parallel ranks:
//
//            none          zero1           zero3
//   2 P, parameters        2 P             2 P / N
//   2 P, gradients         2 P             2 P / N      4 P where gradients are 32-bit
//   12 P, optimizer        12 P / N        12 P / N
//
// zero3 also holds two gathered units (core/step_plan.h). Activations are an estimate: of a layer
// s b h (10 + 24 / t) bytes, attention computed without keeping its scores, or 2 s b h with
// recomputation, of which one layer is whole at a time [Korthikanti et al., arXiv 2205.05198,
// equations 2 and 6]; of the output layer 4 b s V / t bytes of logits; and of a pipeline's stage so
// many micro-batches at once as are on their way behind it. The framework's own use, fragmentation
// and communication buffers are not counted.

#include <cstdint>
#include <vector>

#include "core/step_plan.h"

namespace gradhaul {

struct StepMemory {
  Bytes parameters;  // of a recommender with its share of the tables
  Bytes gradients;
  Bytes optimizer;
  Bytes gathered;     // whole parameters that zero3 has fetched
  Bytes activations;  // an estimate
  Bytes total() const { return parameters + gradients + optimizer + gathered + activations; }
};

// Of a rank of `stage`, which holds `model`.
StepMemory step_memory(const TrainingStep& step, const ParallelLayout& layout,
                       const StageModel& model, int stage);

}  // namespace gradhaul
