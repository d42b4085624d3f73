#pragma once

// A node: scenarios/nodes/*.yaml, or the mapping itself under `cluster.node`.

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

Node read_node(MappingReader& reader);

}  // namespace gradhaul
