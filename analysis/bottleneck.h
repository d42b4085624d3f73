#pragma once

// What limits a row, in a sentence that needs no knowledge of the program.

#include <string>
#include <vector>

#include "core/result.h"

namespace gradhaul {

// "Limited by node0.nic0 (32 equal): its wire carries data 97 % of the time. 64.1 of 70.1 ms of the
// critical path (91 %) is spent on it and its equals." `resources` are those of this row.
std::string bottleneck_sentence(const ResultRow& row, const std::vector<ResourceUse>& resources);

}  // namespace gradhaul
