#pragma once

// A host looked at once, or twice with some time between, and judged.

#include <string>
#include <vector>

#include "backends/host/counter_reader.h"
#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"
#include "core/host_checkup.h"

namespace gradhaul {

struct HostSnapshot {
  HostInventory host;
  std::vector<CounterValue> counters;
  bool driver_counters_missing = false;  // of a copied tree that lacks /ethtool
};

HostSnapshot take_snapshot(const HostTree& tree);

// What is found in the host as it is now. `earlier` and `seconds` (more than 0) speak of a snapshot
// before; without one, `earlier` is nullptr and `seconds` 0.
HostCheckup examine_host(const HostSnapshot& now, const HostSnapshot* earlier, double seconds);

}  // namespace gradhaul
