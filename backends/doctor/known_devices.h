#pragma once

// Devices by their PCI numbers (The PCI ID Repository, pci-ids.ucw.cz, unless said otherwise), with
// what their makers' data sheets say of them.

#include <optional>
#include <string>

namespace gradhaul {

struct KnownDevice {
  int vendor = 0;
  int device = 0;
  const char* name = "";     // "H100 SXM5 80GB"
  const char* shipped = "";  // the model in scenarios/devices that stands for it; empty: none
  double port_rate = 0;      // Gb/s that a port of a NIC can do at most; 0: not a NIC, or it varies
  bool rdma = false;         // a NIC that does RDMA
  double nvlink = 0;         // GB/s and direction of a GPU on NVSwitch; 0: none, or not known
  double nvlink_efficiency = 0;
};

// Nothing where it is not known here.
const KnownDevice* known_device(int vendor, int device);

// Its name, or its numbers: "10de:2330".
std::string device_name(int vendor, int device);

// An NVSwitch as the PCI bus shows it: a bridge of no standard kind, by NVIDIA.
bool is_nvswitch(int vendor, int pci_class);

}  // namespace gradhaul
