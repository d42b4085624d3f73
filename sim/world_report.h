#pragma once

// What a finished packet world says about itself, in the terms of core/result.h.

#include <string>
#include <vector>

#include "core/result.h"
#include "sim/packet_world.h"

namespace gradhaul {

// Utilisation of the busier direction, bytes of both, and the share of the critical path, by
// resource in the order of names; only resources that did something.
std::vector<ResourceUse> resource_uses(const PacketWorld& world);
// Ports whose counters are not all zero, in the order of their names.
std::vector<PortCounters> port_counters(const PacketWorld& world);
// The largest first.
std::vector<TimePart> time_parts(const PacketWorld& world);

// What a row is limited by; see sim/path_report.h.
std::string limited_by(const PacketWorld& world, const std::vector<ResourceUse>& resources);

}  // namespace gradhaul
