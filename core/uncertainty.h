#pragma once

// How far a predicted time may be off because of what nobody has measured or stated: the estimates
// that it rests on, each replaced by the least and by the greatest value that is thought possible.

#include <algorithm>
#include <string>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

// One estimate, all others left as they are.
struct EstimateEffect {
  std::string key;  // of the scenario: "cluster.node.gpus.model.read_latency"
  // As a scenario writes them.
  std::string low;
  std::string value;
  std::string high;
  // No range comes with the value: half and twice of it were taken.
  bool assumed = false;
  // The row's time with the one and with the other.
  Duration at_low;
  Duration at_high;

  // The times that it leads to; `time` is that of the value itself.
  Duration least(Duration time) const { return std::min({at_low, at_high, time}); }
  Duration most(Duration time) const { return std::max({at_low, at_high, time}); }
};

struct Uncertainty {
  Duration low;
  Duration high;
  std::vector<EstimateEffect> effects;  // of those that move the time, the most first
  int tried = 0;                        // estimates
  int left = 0;                         // that were not tried, since the run was interrupted
};

// The range that effects make together: on each side the root of the sum of their squares, as of
// errors that know nothing of each other [JCGM 100:2008, Guide to the expression of uncertainty in
// measurement, 5.1.2]. That all estimates are wrong at once in one direction is not believed.
Uncertainty combined(Duration time, const std::vector<EstimateEffect>& effects);

}  // namespace gradhaul
