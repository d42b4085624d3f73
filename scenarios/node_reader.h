#pragma once

// A node: scenarios/nodes/*.yaml, or the mapping itself under `cluster.node`.

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

struct ReadNode {
  Node node;
  // Nothing is wrong with it, so that others may reckon with it.
  bool whole = false;
};

ReadNode read_node(MappingReader& reader);

}  // namespace gradhaul
