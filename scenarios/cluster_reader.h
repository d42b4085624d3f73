#pragma once

// `cluster`: how many of which nodes, joined by what.

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// Also checks what node, network and counts say together.
Cluster read_cluster(MappingReader& reader);

}  // namespace gradhaul
