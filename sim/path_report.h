#pragma once

// What the path that decided a time says of it: where it went, and what limits it.

#include <string>
#include <vector>

#include "core/result.h"
#include "sim/fabric.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// One use for each resource, named, to be filled in.
std::vector<ResourceUse> named_uses(const std::vector<Resource>& resources);
// Whether what passes the link is counted as its resource's: what a root port translates passes its
// page walks as well, and counts there.
bool counts_bytes(const Link& link);
// Adds each resource's share of the path, leaves out those that did nothing, and sorts by name.
void finish_uses(const std::vector<TracePart>& path, std::vector<ResourceUse>& uses);

// By name, the largest first.
std::vector<TimePart> time_parts(const std::vector<TracePart>& path,
                                 const std::vector<Resource>& resources);

// The kind of resource that the path spends most time being served by or waiting for, or where
// that is not nearly busy the busiest kind on the path that is, since waiting backs up into links
// before the narrow one; and of that kind the one that is busiest, with how many are as busy to a
// thousandth; "latency" where latencies of software, wires and memory weigh more. But where that
// resource is not nearly busy and the path goes through returned slots, "slots": more of them would
// hide what else it consists of.
std::string limiting_resource(const std::vector<TracePart>& path,
                              const std::vector<Resource>& resources,
                              const std::vector<ResourceUse>& uses);

}  // namespace gradhaul
