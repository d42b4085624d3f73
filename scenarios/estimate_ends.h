#pragma once

// The estimates of a scenario, each with the least and the greatest value that it may have.

#include <string>
#include <vector>

#include "core/result.h"
#include "scenarios/scenario.h"

namespace gradhaul {

struct EstimateEnds {
  std::string key;  // as --set takes it
  std::string low;
  std::string value;
  std::string high;
  bool assumed = false;  // no range comes with the value: half and twice of it
};

// In the order of the scenario, without those of parts that `prediction` shows to carry nothing
// (the socket link, where nothing crosses it) or that are switched off, and without what is no
// number. What --set gave is no estimate. The ACK timeout is none either, but how long a NIC takes
// for it is.
std::vector<EstimateEnds> estimate_ends(const Scenario& scenario, const Prediction& prediction);

}  // namespace gradhaul
