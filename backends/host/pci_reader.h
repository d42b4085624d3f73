#pragma once

// The PCI tree of a host, from /sys/bus/pci/devices (Linux,
// Documentation/ABI/testing/sysfs-bus-pci).

#include <vector>

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

// By address; parents are set.
std::vector<PciFunction> read_pci(const HostTree& tree);

// The function in whose folder something lies: the last address in a resolved path; -1: none.
int function_of_path(const std::vector<PciFunction>& functions, const std::string& path);

// Whether a name is that of a PCI function, as "0000:18:00.0".
bool is_pci_address(const std::string& name);

// Speed of a lane as sysfs writes it, "16.0 GT/s PCIe"; nothing where it is none that PCIe has.
std::optional<double> parse_lane_speed(const std::string& text);

}  // namespace gradhaul
