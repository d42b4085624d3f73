#pragma once

// RDMA devices and network interfaces of a host, from /sys/class/infiniband and /sys/class/net
// (Linux, Documentation/ABI/stable/sysfs-class-infiniband and testing/sysfs-class-net).

#include <vector>

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

std::vector<RdmaDevice> read_rdma(const HostTree& tree, const std::vector<PciFunction>& functions);

// Those on PCI, bonds, and their members.
std::vector<NetDevice> read_net(const HostTree& tree, const std::vector<PciFunction>& functions);

}  // namespace gradhaul
