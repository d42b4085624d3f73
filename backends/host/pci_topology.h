#pragma once

// Who hangs below whom in a host's PCI tree, how far apart two functions are, and what the links
// between them can carry.

#include <optional>
#include <vector>

#include "backends/host/host_inventory.h"
#include "core/pcie_distance.h"

namespace gradhaul {

// The bridges above a function, the nearest first.
std::vector<int> bridges_above(const HostInventory& host, int function);

// The port of a switch that looks up: as its configuration space says; where only root may see
// that, by its place, since below a root port follows a switch's upstream port, then a downstream
// port.
bool is_upstream_port(const HostInventory& host, int function);

// Upstream ports of the switches above a function, the nearest first.
std::vector<int> switches_above(const HostInventory& host, int function);

// As nvidia-smi and NCCL class it. Nothing where the host does not tell: a function that hangs
// below no bridge at all is one that a hypervisor placed, and of two different sockets or not.
std::optional<PcieDistance> distance_between(const HostInventory& host, int left, int right);

// The link above an endpoint or a switch: what it runs at, and what both ends can do. (A root or
// downstream port shows the link below itself.)
struct PcieLinkCheck {
  std::optional<double> speed;
  std::optional<double> limit_speed;  // the lesser of both ends' greatest
  std::optional<int> width;
  std::optional<int> limit_width;
};
PcieLinkCheck check_link(const HostInventory& host, int function);

// Payload of writes in GB/s and direction: line coding, 26 bytes a TLP from 8 GT/s on (24 below),
// and one DLLP of 16 bytes for four TLPs, as UCX reckons (src/ucs/sys/topo/base/topo.c).
double pcie_payload_rate(double speed, int width, int max_payload);

// 1 to 6; nothing for a speed that PCIe has not.
std::optional<int> pcie_generation(double speed);
// The link as scenarios write it; what it runs at, or the limit.
std::optional<PcieLink> running_link(const HostInventory& host, int function);
std::optional<PcieLink> limit_link(const HostInventory& host, int function);

}  // namespace gradhaul
