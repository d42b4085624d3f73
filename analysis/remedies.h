#pragma once

// What might make a row faster: the knobs that its critical path points at, each with what turning
// it could save at the most by first reckoning. Whether it does is for another run to say, since
// something else then limits.

#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/knob.h"
#include "core/result.h"

namespace gradhaul {

// Whether some data that leaves or enters a node passes host memory.
bool stages_data(const Cluster& cluster, const Communication& communication);

struct Remedy {
  Knob knob = Knob::kNetworkRate;
  // Half of what the path spends on what is made twice as fast, half as long or twice as wide; of a
  // larger packet the share of the headers saved.
  Duration at_most;
};

// Those of what the row is limited by first, then by what they could save, the most first. Those
// that could save less than a thousandth of the time are left out, and those that are as good
// already as they can be, such as the MTU.
// Beside the path of the last row its counters speak: a port that had to wait may have made others
// wait, who are blamed.
std::vector<Remedy> remedies(const Prediction& prediction, const Cluster& cluster,
                             const Communication& communication);

}  // namespace gradhaul
