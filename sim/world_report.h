#pragma once

// What a finished run in the packet model says about itself, in the terms of core/result.h.

#include <string>
#include <vector>

#include "core/result.h"
#include "sim/finished_run.h"

namespace gradhaul {

// Utilisation of the busier direction, bytes of both, and the share of the critical path, by
// resource in the order of names; only resources that did something.
std::vector<ResourceUse> resource_uses(const FinishedRun& world);
// Ports whose counters are not all zero, in the order of their names: of switches those that had
// any trouble.
std::vector<PortCounters> port_counters(const FinishedRun& world);
// The largest first.
std::vector<TimePart> time_parts(const FinishedRun& world);

// What a row is limited by; see sim/path_report.h.
std::string limited_by(const FinishedRun& world, const std::vector<ResourceUse>& resources);

}  // namespace gradhaul
