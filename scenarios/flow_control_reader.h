#pragma once

// What keeps a network from losing packets, and how a RoCE network is told apart from an InfiniBand
// one: flow_control, congestion_control, routing and the switch's buffer (interface.md, 2.2).

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// The keys of `switch` that depend on the kind of network. `mtu`, `kind` and topology have been
// read.
void read_switch_buffers(MappingReader& reader, Network& network);

// Keys of the network itself. All else of it has been read, switches too.
void read_flow_control(MappingReader& reader, Network& network);

}  // namespace gradhaul
