#pragma once

// What a result says of a run from what was counted to be put on resources: exact in bytes,
// whatever was simulated.

#include <cstdint>
#include <vector>

#include "core/result.h"
#include "sim/link_digest.h"
#include "sim/resource_load.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// Adds a row whose time is known, with what decided it (`path`, adding up to it), and what of all
// resources was used by then.
void add_row(const ResourceLoad& load, const std::vector<TracePart>& path, ResultRow row,
             Prediction& prediction);
void add_to_digest(const ResourceLoad& load, RunDigest& digest);

}  // namespace gradhaul
