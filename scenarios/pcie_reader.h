#pragma once

// The PCIe tree of a node: `pcie`, a list of switches and of devices at a socket, and
// `pcie_settings`.

#include <vector>

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// Reads the `pcie` key of a node whose devices and sockets have been read, and checks that the tree
// is one: every device with a PCIe link of its own in it once, every parent known, no circle.
// `devices_known`: the models of the devices were understood; else each may hang on PCIe.
std::vector<PcieBranch> read_pcie_tree(MappingReader& node_reader, const Node& node,
                                       bool devices_known);

PcieSettings read_pcie_settings(MappingReader& reader);

}  // namespace gradhaul
