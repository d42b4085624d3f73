#pragma once

// Names of the network's links, for faults that are of several.

#include <set>
#include <string>
#include <vector>

#include "core/cluster.h"

namespace gradhaul {

// Of a sized topology, those that end at this switch.
std::vector<std::string> links_of_spine(const Cluster& cluster, int spine);
std::vector<std::string> links_of_leaf(const Cluster& cluster, int leaf);
// Those of NICs, and between switches.
std::set<std::string> links_of_network(const Cluster& cluster);

}  // namespace gradhaul
