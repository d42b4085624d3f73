#include "sim/flow_blame.h"

#include <algorithm>

namespace gradhaul {

FlowBlame::FlowBlame(const FlowPlan& plan, const FlowPaths& paths, const Fabric& fabric,
                     int ranks_per_node, HopLatency& latency)
    : plan_(plan),
      paths_(paths),
      fabric_(fabric),
      ranks_per_node_(ranks_per_node),
      latency_(latency),
      first_(plan.conveyors.size()) {}

void FlowBlame::fill(std::int32_t number) {
  std::vector<TracePart>& parts = first_[static_cast<std::size_t>(number)];
  if (!parts.empty()) return;
  const Conveyor& conveyor = plan_.conveyors[static_cast<std::size_t>(number)];
  Trace trace = latency_.message_parts(conveyor.hop, conveyor.slice);
  const Rank destination = conveyor.hop.destination;
  const ResourceId kernel =
      fabric_.reduce_resource(destination / ranks_per_node_, destination % ranks_per_node_);
  trace.add(kernel, Cause::kBusy, conveyor.first.ps - trace.total());
  parts.assign(trace.parts.begin(), trace.parts.begin() + trace.count);
}

const Trace& FlowBlame::first_slice(std::int32_t conveyor) {
  fill(conveyor);
  scratch_.count = 0;
  for (const TracePart& part : first_[static_cast<std::size_t>(conveyor)]) {
    scratch_.add(part.resource, part.cause, part.ps);
  }
  return scratch_;
}

const Trace& FlowBlame::behind_slowest(std::int32_t number) {
  fill(number);
  scratch_.count = 0;
  std::int64_t left = paths_.paths[static_cast<std::size_t>(number)].pace.ps;
  const std::vector<TracePart>& parts = first_[static_cast<std::size_t>(number)];
  // Serving comes off first, the kernel's, which is last, before the links'.
  for (const bool serving : {true, false}) {
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if ((part->cause == Cause::kBusy) != serving) continue;
      const std::int64_t off = std::min(left, part->ps);
      left -= off;
      scratch_.add(part->resource, part->cause, part->ps - off);
    }
  }
  return scratch_;
}

ResourceId FlowBlame::narrow(std::int32_t conveyor) const {
  const FlowPath& path = paths_.paths[static_cast<std::size_t>(conveyor)];
  return path.crowded != kNoResource ? path.crowded : path.alone.resource;
}

// What takes longer than it would alone waits where the path is shared.
bool FlowBlame::waits(std::int32_t conveyor, std::int64_t units, std::int64_t ps) const {
  const FlowPath& path = paths_.paths[static_cast<std::size_t>(conveyor)];
  const double alone = static_cast<double>(units) * 1e12 / path.alone.units_per_second;
  constexpr double kMore = 1.001;
  return path.crowded != kNoResource && static_cast<double>(ps) > alone * kMore;
}

TracePart FlowBlame::early(std::int32_t conveyor, std::int64_t units, std::int64_t ps) const {
  const FlowPath& path = paths_.paths[static_cast<std::size_t>(conveyor)];
  if (waits(conveyor, units, ps)) return {};
  return {path.alone.resource, path.cause, std::min(ps, path.early.ps)};
}

Trace FlowBlame::flow(std::int32_t conveyor, std::int64_t units, std::int64_t ps) const {
  const FlowPath& path = paths_.paths[static_cast<std::size_t>(conveyor)];
  Trace trace;
  if (waits(conveyor, units, ps)) {
    trace.add(path.crowded, Cause::kBusy, ps);
  } else {
    trace.add(path.alone.resource, path.cause, ps);
  }
  return trace;
}

}  // namespace gradhaul
