#pragma once

// `cluster`: how many of which nodes, joined by what.

#include <string>
#include <vector>

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

struct ReadCluster {
  Cluster cluster;
  // Nothing is wrong with it, so that others may reckon with it.
  bool whole = false;
  std::vector<std::string> notes;  // what is wrong in it
};

// Also checks what node, network and counts say together.
ReadCluster read_cluster(MappingReader& reader);

}  // namespace gradhaul
