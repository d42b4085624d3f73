#pragma once

// The host as a tree: sockets, PCIe switches, GPUs, NICs with their ports.

#include <vector>

#include "backends/host/host_inventory.h"
#include "core/host_checkup.h"

namespace gradhaul {

std::vector<HostItem> summarize_host(const HostInventory& host);
HostDistances host_distances(const HostInventory& host);

}  // namespace gradhaul
