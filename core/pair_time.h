#pragma once

// What writes from one node to another took (backends/measure/measure_pairs.h): the medians of
// their iterations, each until the slower of both ranks was done.

#include <vector>

#include "core/quantities.h"

namespace gradhaul {

// How pairs of nodes are to be measured.
struct PairSettings {
  int nics = 1;  // of each node, one after the other
  Bytes size;    // written each way
  int slots = 8;
  bool gpu_memory = false;  // at both ends: the GPUs' of the nodes' first ranks; else the host's
};

struct PairTime {
  int nic = 0;
  int from = 0;  // nodes
  int to = 0;
  Duration one_way;  // with nothing coming the other way; of all repeats the least
  // The same bytes going both ways at once, the least likewise; that of (to, from) too, until the
  // slower end was done. 0: not measured.
  Duration both_ways;
  int repeats = 0;  // how often one way was measured again, for having been slow
};

// Slow is whose bandwidth is by more than this share below the upper quartile of all.
inline constexpr double kSlowPair = 0.1;

// Which of them are, one way or both ways; as `times`.
std::vector<bool> slow_pairs(const std::vector<PairTime>& times,
                             Duration PairTime::*field = &PairTime::one_way,
                             double tolerance = kSlowPair);

}  // namespace gradhaul
