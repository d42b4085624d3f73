#pragma once

// What the cores of hosts have to do where data goes by TCP (sim/packet_tcp.cpp), and communication
// threads where it does not and their turns take time (sim/packet_turns.cpp), as part of
// sim/resource_load.h.

#include "sim/resource_load.h"

namespace gradhaul {

// Counts one connection that goes by a NIC: the cores of the GPUs at both ends, and what they copy
// within host memory.
void count_cores(const Hop& hop, const ConnectionTraffic& traffic, ResourceLoad& load);
// The same by RDMA, of some messages: the threads of the ranks at both ends.
void count_turns(const Hop& hop, std::int64_t messages, const Communication& communication,
                 ResourceLoad& load);

}  // namespace gradhaul
