#pragma once

// Faults that name a node: what is wrong with its communication threads.

#include <string>
#include <vector>

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// `cluster`: null where it could not be read. Adds to `faults`.
void read_node_fault(MappingReader& reader, const Cluster* cluster, Faults& faults);

// What is said of them: a sentence each.
std::vector<std::string> node_fault_notes(const Faults& faults);

// "nodes are node0 to node3"
std::string counted_nodes(const Cluster& cluster);

}  // namespace gradhaul
