#pragma once

// How many channels `channels: auto` means (interface.md, section 2): the smallest multiple of a
// node's NICs (of 1 where it has none) whose reduce kernels together keep up with 1.3 times what
// the network carries, or NVLink or else PCIe where all ranks are in one node.

#include "core/cluster.h"
#include "core/quantities.h"

namespace gradhaul {

int automatic_channels(const Cluster& cluster);

// Payload that is carried in each direction at best: by all NICs of a node together, each at the
// lower of its own and its link's rate, less packet headers; in a cluster of one node by a GPU's
// NVLink, or else by its PCIe link as posted writes of max_payload. Unlimited where nothing limits.
BitRate carried_payload(const Cluster& cluster);

}  // namespace gradhaul
