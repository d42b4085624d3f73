#pragma once

// The cluster as a graph in the language of Graphviz (dot): sockets, PCIe switches, GPUs and NICs
// of each node, and the switches that join them. Of many nodes the first is drawn whole, the others
// as boxes.

#include <string>

#include "core/cluster.h"

namespace gradhaul {

// Requires a cluster whose topology is sized.
std::string topology_dot(const Cluster& cluster);

}  // namespace gradhaul
