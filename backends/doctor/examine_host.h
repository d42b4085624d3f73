#pragma once

// A host looked at once, or twice with some time between, and judged.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backends/host/counter_reader.h"
#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"
#include "backends/host/nvml_library.h"
#include "backends/verbs/port_mtus.h"
#include "core/host_checkup.h"

namespace gradhaul {

struct HostSnapshot {
  HostInventory host;
  std::vector<CounterValue> counters;
  bool driver_counters_missing = false;  // of a copied tree that lacks /ethtool
};

// Gives NVIDIA's management library, or nothing and why.
using NvmlOpener = std::function<std::unique_ptr<NvmlLibrary>(std::string&)>;

using MtuAsker = std::function<AskedMtus()>;

// Libraries are asked on the running host alone: NVIDIA's where there are its GPUs, verbs where
// there are RDMA devices.
HostSnapshot take_snapshot(const HostTree& tree);
HostSnapshot take_snapshot(
    const HostTree& tree, const NvmlOpener& open, const MtuAsker& ask = [] { return AskedMtus{}; });

// What is found in the host as it is now. `earlier` and `seconds` (more than 0) speak of a snapshot
// before; without one, `earlier` is nullptr and `seconds` 0.
HostCheckup examine_host(const HostSnapshot& now, const HostSnapshot* earlier, double seconds);

}  // namespace gradhaul
