#pragma once

// What writes from one node to another took (backends/measure/measure_pairs.h): the medians of
// their iterations, each until the slower of both ranks was done.

#include "core/quantities.h"

namespace gradhaul {

// How pairs of nodes are to be measured.
struct PairSettings {
  int nics = 1;  // of each node, one after the other
  Bytes size;    // written each way
  int slots = 8;
};

struct PairTime {
  int nic = 0;
  int from = 0;  // nodes
  int to = 0;
  Duration one_way;    // with nothing coming the other way
  Duration both_ways;  // the same bytes going both ways at once; the same of (to, from)
};

}  // namespace gradhaul
