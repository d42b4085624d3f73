#pragma once

// What a host's inventory says for a node file (interface.md, section 2.1).

#include "backends/host/host_inventory.h"
#include "core/host_checkup.h"

namespace gradhaul {

NodeDraft draft_node(const HostInventory& host);

}  // namespace gradhaul
