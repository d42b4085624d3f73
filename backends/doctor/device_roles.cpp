// Which devices matter, and what they are called.

#include <algorithm>

#include "backends/doctor/findings.h"
#include "backends/doctor/known_devices.h"
#include "backends/host/pci_topology.h"

namespace gradhaul {
namespace {

std::string numbered(const char* kind, const std::vector<int>& functions, int function) {
  const auto found = std::find(functions.begin(), functions.end(), function);
  if (found == functions.end()) return "";
  return kind + std::to_string(found - functions.begin());
}

// An order in which the unknown comes last.
int rank_of(std::optional<PcieDistance> distance) {
  return distance ? static_cast<int>(*distance) : static_cast<int>(PcieDistance::kOtherSocket) + 1;
}

}  // namespace

std::string function_name(const HostInventory& host, int function) {
  std::string name = numbered("gpu", host.gpus, function);
  if (name.empty()) name = numbered("nic", fabric_nics(host), function);
  return name.empty() ? host.pci[function].address : name;
}

std::string function_label(const HostInventory& host, int function) {
  const std::string& address = host.pci[function].address;
  std::string name = function_name(host, function);
  const auto rdma = host.rdma_of(function);
  if (!rdma.empty()) name = rdma.front()->name;
  return name == address ? address : name + " (" + address + ")";
}

std::vector<int> fabric_nics(const HostInventory& host) {
  std::vector<int> found;
  for (const int nic : host.nics) {
    if (!host.rdma_of(nic).empty()) found.push_back(nic);
  }
  if (!found.empty()) return found;
  for (const int nic : host.nics) {
    const KnownDevice* known = known_device(host.pci[nic].vendor, host.pci[nic].device);
    if (known != nullptr && known->rdma) found.push_back(nic);
  }
  return found.empty() ? host.nics : found;
}

std::vector<int> nearest_nics(const HostInventory& host, int gpu) {
  std::vector<int> nearest;
  std::optional<PcieDistance> least;
  for (const int nic : fabric_nics(host)) {
    const auto distance = distance_between(host, gpu, nic);
    if (!distance || (least && *distance > *least)) continue;
    if (!least || *distance < *least) nearest.clear();
    least = distance;
    nearest.push_back(nic);
  }
  return nearest;
}

std::vector<int> gpus_served_by(const HostInventory& host, int nic) {
  std::vector<int> served;
  for (const int gpu : host.gpus) {
    const int own = rank_of(distance_between(host, gpu, nic));
    const std::vector<int> nics = fabric_nics(host);
    const bool nearer = std::any_of(nics.begin(), nics.end(), [&](int other) {
      return rank_of(distance_between(host, gpu, other)) < own;
    });
    if (!nearer) served.push_back(gpu);
  }
  return served;
}

std::vector<int> one_of_each_slot(const HostInventory& host, const std::vector<int>& functions) {
  std::vector<int> kept;
  const auto slot = [&](int function) {
    const std::string& address = host.pci[function].address;
    return address.substr(0, address.find('.'));
  };
  for (const int function : functions) {
    const bool known = std::any_of(kept.begin(), kept.end(),
                                   [&](int other) { return slot(other) == slot(function); });
    if (!known) kept.push_back(function);
  }
  return kept;
}

}  // namespace gradhaul
