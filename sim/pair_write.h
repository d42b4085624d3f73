#pragma once

// One connection between two ranks with nothing else on its way, slices written into receive slots
// by the hosts' threads and nothing done with them: what a perftest of RDMA writes does, and
// backends/measure/write_stream.h.

#include "core/communication.h"
#include "core/placement.h"
#include "sim/fabric.h"

namespace gradhaul {

struct PairWrite {
  Hop hop;
  Bytes size;
  Bytes slice;
  int slots = 8;             // of the receiver; each is given back as soon as its slice has come
  Bytes blue_flame;          // Communication::blue_flame
  bool host_memory = false;  // at both ends, whatever the hop says of staging; else the GPUs'
};

// From its first post until the receiver's thread knows of all of it and the sender's of the last
// acknowledgement. By the rules of the packet model (sim/idle_connection.h). Throws SimulationError
// where no path leads there.
Duration pair_write_time(const Fabric& fabric, int ranks_per_node, const PairWrite& pair);

}  // namespace gradhaul
