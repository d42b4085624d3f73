#pragma once

// How long a GPU computes on a part of a model. Matrix products at the GPU's peak times the
// efficiency that the scenario gives:
//
//   forward, a matrix of m elements   2 m T           T tokens (samples) of a micro-step
//   attention, of a layer             4 b s^2 h       scores and weighted values of b sequences of
//                                                     s tokens; no discount for causal masks
//   backward                          twice the forward pass
//
// as model FLOPs utilisation counts it: 6 P T + 12 L h s T in all [Chowdhery et al., "PaLM",
// arXiv 2204.02311, appendix B]. Tensor parallelism divides all of it. Norms, element-wise
// operations and what they wait for are in the efficiency.
//
// What only moves memory is counted in bytes: Adam in mixed precision reads a gradient, reads and
// writes 12 bytes of state and writes a parameter; plain gradient descent, that of a recommender,
// reads a gradient, and reads and writes a parameter; a lookup in a table reads and writes a
// vector, and its update reads that of the gradient, and reads and writes the row.

#include <cstdint>

#include "core/cluster.h"
#include "core/training_step.h"

namespace gradhaul {

// Bytes of the optimizer's state of a parameter: a 32-bit copy, momentum, variance [ZeRO, 3.1].
inline constexpr std::int64_t kOptimizerBytes = 12;

class StepCompute {
 public:
  // The GPU's peak is known (GpuModel::tensor_flops).
  StepCompute(const TrainingStep& step, const GpuModel& gpu) : step_(step), gpu_(gpu) {}

  // Operations of one rank in one micro-step, forward.
  double forward_flops(const ParameterTensor& tensor) const;
  Duration forward(const ParameterTensor& tensor) const;
  Duration backward(const ParameterTensor& tensor) const;
  // Of so many parameters, all that one rank updates.
  Duration optimizer(std::int64_t parameters) const;
  // Of a rank's share of all tables, for the samples of all ranks.
  Duration table_lookup() const;
  Duration table_update() const;

 private:
  Duration of_flops(double flops) const;
  Duration of_memory(std::int64_t bytes) const;

  const TrainingStep& step_;
  const GpuModel& gpu_;
};

// The operations of all ranks in a whole step that a model needs, recomputation not counted.
double model_flops(const TrainingStep& step, int ranks);

}  // namespace gradhaul
