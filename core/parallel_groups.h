#pragma once

// Which ranks hold a model together. Ranks are laid out as Megatron-LM does it by default: those of
// a tensor-parallel group follow each other, then come data-parallel replicas, then pipeline stages
// [Narayanan et al., SC 2021; megatron/core/parallel_state.py, order "tp-dp-pp"]:
//
//   rank = t + tensor x (d + data x p)
//
// so that what talks most is nearest.

#include <cstdint>
#include <vector>

#include "core/communication.h"

namespace gradhaul {

struct ParallelLayout {
  int tensor = 1;
  int data = 1;
  int pipeline = 1;
  int ranks() const { return tensor * data * pipeline; }
  Rank rank_at(int t, int d, int p) const { return t + tensor * (d + data * p); }
};

enum class GroupKind : std::uint8_t {
  kTensor,    // the ranks that share a layer
  kData,      // the ranks that hold the same parameters
  kPipeline,  // two ranks that follow each other from one stage to the next
  kAll,       // all ranks
};

// The groups of a stage, ascending; each in the order of its ranks. kPipeline: the pairs that lead
// from `stage` to the next one, none for the last.
std::vector<std::vector<Rank>> parallel_groups(const ParallelLayout& layout, GroupKind kind,
                                               int stage);

}  // namespace gradhaul
