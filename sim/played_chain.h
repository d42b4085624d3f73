#pragma once

// The longest chain of transfers (sim/collective_chain.h) of any schedule, found by playing it:
// every item as soon as what it waits for is there, of each chunk the first slice, links and
// kernels idle. What makes up a chain: messages, the kernel's time for what is received, the order
// of the items of a lane, and dependencies, which wait until what was sent is known to be written.
// A chunk of k full slices occupies the slowest stage of its last hop for k - 1 slices more. Of a
// group of channels that take the same ways the first is played, whose chunks are the largest.

#include "core/placement.h"
#include "core/prediction_request.h"
#include "core/schedule.h"
#include "sim/collective_chain.h"
#include "sim/hop_latency.h"

namespace gradhaul {

CollectiveChain longest_played_chain(const PredictionRequest& request, const Placement& placement,
                                     const Schedule& chunks, HopLatency& latency);

}  // namespace gradhaul
