#pragma once

// What the cores of hosts have to do where data goes by TCP (sim/packet_tcp.cpp), as part of
// sim/resource_load.h.

#include "sim/resource_load.h"

namespace gradhaul {

// Counts one connection that goes by a NIC: the cores of the GPUs at both ends, and what they copy
// within host memory.
void count_cores(const Hop& hop, const ConnectionTraffic& traffic, ResourceLoad& load);

}  // namespace gradhaul
