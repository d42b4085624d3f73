#pragma once

// What turning a knob means in a scenario: which of its keys take which other values. The settings
// are those of --set, so that a user can do the same by hand and gets the same.

#include <string>
#include <vector>

#include "core/knob.h"
#include "scenarios/scenario.h"

namespace gradhaul {

struct WhatIf {
  Knob knob = Knob::kNetworkRate;
  // "network links and NIC ports of 800Gb/s instead of 400Gb/s"
  std::string change;
  std::vector<std::string> settings;  // PATH=VALUE; empty: there is an obstacle
  // Why it cannot be had, as a sentence without its full stop; else empty.
  std::string obstacle;
};

// `channels`: those that the scenario's run had.
WhatIf what_if(Knob knob, const Scenario& scenario, int channels);

}  // namespace gradhaul
