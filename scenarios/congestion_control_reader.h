#pragma once

// congestion_control of a RoCE network (interface.md, 2.2): none, or dcqcn with its parameters.

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// The rate of the network's links has been read.
void read_congestion_control(MappingReader& reader, Network& network);

}  // namespace gradhaul
