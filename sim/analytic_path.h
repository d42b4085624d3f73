#pragma once

// Where the time of a closed form goes: the longest chain hop by hop, or the busiest resource, or
// the slots' way back, and what is left over; in the terms of a simulated run's critical path.

#include <vector>

#include "sim/analytic_bracket.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// Adds up to the launch and bracket.estimate.
std::vector<TracePart> analytic_path(const ResourceLoad& load, const CollectiveChain& chain,
                                     const SlotBound& slots, const AnalyticBracket& bracket,
                                     HopLatency& latency);

}  // namespace gradhaul
