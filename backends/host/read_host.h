#pragma once

// Everything a host tells of itself, read once.

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

HostInventory read_host(const HostTree& tree);

}  // namespace gradhaul
