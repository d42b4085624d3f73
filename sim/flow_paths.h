#pragma once

// How fast flows may go, and which resources they share.
//
// A fluid byte is a byte of payload, so a resource's capacity is what it carries of payload in all
// over the time it is occupied by all that it carries (ResourceLoad::occupied): headers, and on
// links of the reverse direction acknowledgements, credits and read requests, each in the share of
// the flows that cause them, and credit windows, read tags and buffers where these are narrower
// than the rate. Flows whose forms differ on a link are not told apart there, but all together take
// exactly the time that the counted bytes take. The same holds for a GPU's memory, a NIC's reads
// and work requests, and the kernel of a group of channels.
//
// A flow cannot be faster than the narrowest resource of its path alone, nor than its slots allow:
// slots x slice a round trip, each channel of the group, where slots hold less than a transfer;
// where they hold more, sim/flow_progress.h counts them. A resource that all its flows at these
// rates do not fill limits nothing, and is left out: what the solver finds without it is the same.

#include <cstdint>
#include <vector>

#include "sim/flow_plan.h"
#include "sim/resource_load.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// Of payload; with no limit, infinite.
struct FlowCapacity {
  double units_per_second = 0;
  ResourceId resource = kNoResource;
};

struct FlowPath {
  FlowCapacity alone;  // its own limit
  Cause cause = Cause::kBusy;
  std::vector<std::int32_t> shared;  // of FlowPaths::shared
  ResourceId crowded = kNoResource;  // of the shared ones the one with least for each flow
  // What a slice takes at the narrowest place: in the kernel, or else on the links.
  Duration pace;
  // Where slots or the ring limit it, a slice is not that long at its narrowest place: how much
  // earlier the last one is through than the flow is.
  Duration early;
};

struct FlowPaths {
  std::vector<FlowCapacity> shared;
  std::vector<FlowPath> paths;  // by conveyor
  // Of a ring: what the first slices of a chunk wait for on its way around, at most, where each
  // finds one slice of every other connection before it on the link where that is longest.
  Duration queueing;
};

FlowPaths find_flow_paths(const PredictionRequest& request, const Placement& placement,
                          const FlowPlan& plan, const ResourceLoad& load);

}  // namespace gradhaul
