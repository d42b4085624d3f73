#pragma once

// Where the time of a transfer goes, in the terms of a critical path: the first slice's way, what
// is left of it once its slowest stage is taken off, and the flow itself.

#include <cstdint>
#include <vector>

#include "sim/flow_paths.h"

namespace gradhaul {

class FlowBlame {
 public:
  // All outlive this.
  FlowBlame(const FlowPlan& plan, const FlowPaths& paths, const Fabric& fabric, int ranks_per_node,
            HopLatency& latency);

  // X of sim/flow_progress.h.
  const Trace& first_slice(std::int32_t conveyor);
  // X - s; both add up to what these are, the last no less than its latencies.
  const Trace& behind_slowest(std::int32_t conveyor);
  // What flows wait for there: a shared resource, or the narrowest.
  ResourceId narrow(std::int32_t conveyor) const;
  // By how much the last slice of a flow that took so long was through before it (FlowPath::early).
  TracePart early(std::int32_t conveyor, std::int64_t units, std::int64_t ps) const;
  // So long in the flow itself.
  Trace flow(std::int32_t conveyor, std::int64_t units, std::int64_t ps) const;

 private:
  void fill(std::int32_t conveyor);
  bool waits(std::int32_t conveyor, std::int64_t units, std::int64_t ps) const;

  const FlowPlan& plan_;
  const FlowPaths& paths_;
  const Fabric& fabric_;
  int ranks_per_node_;
  HopLatency& latency_;
  std::vector<std::vector<TracePart>> first_;  // by conveyor, once asked for
  Trace scratch_;
};

}  // namespace gradhaul
