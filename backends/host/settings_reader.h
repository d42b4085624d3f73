#pragma once

// Processors, and what a host's kernel is set to.

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

void read_processors(const HostTree& tree, HostInventory& host);
HostSettings read_settings(const HostTree& tree);

}  // namespace gradhaul
