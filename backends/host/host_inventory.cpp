#include "backends/host/host_inventory.h"

#include <algorithm>

namespace gradhaul {

bool HostInventory::has_nvidia_gpu() const {
  return std::any_of(gpus.begin(), gpus.end(), [this](int gpu) {
    return pci[static_cast<std::size_t>(gpu)].vendor == kNvidia;
  });
}

const NetDevice* HostInventory::net_device(const std::string& name) const {
  const auto found = std::find_if(net.begin(), net.end(),
                                  [&](const NetDevice& device) { return device.name == name; });
  return found == net.end() ? nullptr : &*found;
}

std::vector<const RdmaDevice*> HostInventory::rdma_of(int function) const {
  std::vector<const RdmaDevice*> found;
  for (const RdmaDevice& device : rdma) {
    if (device.pci == function && function >= 0) found.push_back(&device);
  }
  return found;
}

std::optional<int> HostInventory::socket_of(const PciFunction& function) const {
  if (sockets.size() == 1) return sockets.front();
  if (!function.numa_node) return std::nullopt;
  for (const NumaNode& node : numa_nodes) {
    if (node.number == *function.numa_node) return node.socket;
  }
  return std::nullopt;
}

}  // namespace gradhaul
