#pragma once

// What is looked for in a host. Each function adds what it found, each from what was read alone:
// where a file could not be read, nothing is said of it here (unseen.h does).

#include <string>
#include <vector>

#include "backends/host/host_inventory.h"
#include "core/host_checkup.h"

namespace gradhaul {

using Findings = std::vector<Finding>;

// How a host's devices are called: "gpu0", "nic1" by the order of their addresses; of other
// functions the address.
std::string function_name(const HostInventory& host, int function);
// "gpu0 (0000:18:00.0)", "mlx5_0 (0000:19:00.0)".
std::string function_label(const HostInventory& host, int function);

// NICs that collectives would use: those that do RDMA; where none does, those that could; else all.
std::vector<int> fabric_nics(const HostInventory& host);

// GPUs for which a NIC is the nearest, none nearer being there. Unknown distances count as the
// farthest.
std::vector<int> gpus_served_by(const HostInventory& host, int nic);
// The nearest fabric NICs of a GPU; empty where no distance is known.
std::vector<int> nearest_nics(const HostInventory& host, int gpu);

// One of the functions that share a slot, and with it a link, stands for all.
std::vector<int> one_of_each_slot(const HostInventory& host, const std::vector<int>& functions);

void find_in_links(const HostInventory& host, Findings& findings);      // PCIe speed and width
void find_in_transfers(const HostInventory& host, Findings& findings);  // PCIe settings
void find_in_paths(const HostInventory& host, Findings& findings);      // GPU to NIC
void find_in_ports(const HostInventory& host, Findings& findings);      // RDMA ports
void find_in_gpus(const HostInventory& host, Findings& findings);       // NVLink, clocks, memory
void find_in_drivers(const HostInventory& host, Findings& findings);    // drivers, firmware
void find_in_roce(const HostInventory& host, Findings& findings);       // RoCE, bonds
void find_in_system(const HostInventory& host, Findings& findings);     // the kernel's settings
// `earlier`: read at the start of the watch, or nothing.
void find_in_queue_pairs(const HostInventory& host, const HostInventory* earlier,
                         Findings& findings);
// `seconds` between the readings; 0: there is only one.
void find_in_counters(const std::vector<CounterReading>& counters, double seconds,
                      Findings& findings);

}  // namespace gradhaul
