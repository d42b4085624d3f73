#pragma once

// `cluster.faults`: what is wrong in the cluster, as interface.md, section 2.3, has it. Each entry
// names one part and what is the matter with it:
//
//   {link: node0.nic0, speed: 100Gb/s}       a link of the network, or a GPU's NVLink
//   {link: node1.sw0, width: x8}             a PCIe link; `generation: 3` as well or instead
//   {link: node0.nic0, bit_error_rate: 1e-10}    a link of the network, after FEC; before it:
//                                                pre_fec_bit_error_rate
//   {link: node0.nic0, down: {at: 5ms, for: 20ms}}   the same; without `for`, it stays down
//   {spine: spine1, down: {at: 0ms}}         all links of a spine; `leaf: leaf0` of a leaf
//   {gpu: node0.gpu3, slowdown: 1.5}         kernels that take so many times as long

#include <string>
#include <vector>

#include "core/cluster.h"
#include "scenarios/mapping_reader.h"

namespace gradhaul {

// `cluster` is whole, its topology sized; nothing: it is not, and only forms are checked.
Faults read_faults(MappingReader& cluster_reader, const Cluster* cluster);

// What each of them leaves, as sentences without their full stops.
std::vector<std::string> fault_notes(const Cluster& cluster);

}  // namespace gradhaul
