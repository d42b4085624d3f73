#pragma once

// How busy resources are in a run that takes a given time, from what was counted to be put on them:
// exact in bytes, whatever was simulated.

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "sim/resource_load.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// `end` ps is the whole time, `path` what decided it. Those that did nothing are left out.
std::vector<ResourceUse> resource_uses(const ResourceLoad& load, std::int64_t end,
                                       const std::vector<TracePart>& path);

}  // namespace gradhaul
