#pragma once

// What a scenario comes to: ranks, switches and rings, in a few lines for people.

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace gradhaul {

// One sentence a line, without line ends.
std::vector<std::string> topology_summary(const Scenario& scenario);

}  // namespace gradhaul
