#pragma once

// The counters of a host's ports and devices at one moment: of RDMA ports (Linux,
// Documentation/ABI/stable/sysfs-class-infiniband), of network interfaces, their drivers' own
// (`ethtool -S`), and PCIe's errors.

#include <cstdint>
#include <string>
#include <vector>

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

struct CounterValue {
  std::string device;
  std::string name;
  std::string file;
  std::uint64_t value = 0;
};

// In the order of the devices. Drivers' own counters of a copied tree are read from
// /ethtool/INTERFACE, which holds what `ethtool -S INTERFACE` printed.
std::vector<CounterValue> read_counters(const HostTree& tree, const HostInventory& host);

// "rx_prio3_pause: 12" of `ethtool -S`; other lines are passed over.
std::vector<CounterValue> parse_driver_counters(const std::string& text);

}  // namespace gradhaul
