#include "backends/host/read_host.h"

#include <algorithm>

#include "backends/host/pci_reader.h"
#include "backends/host/queue_pair_reader.h"
#include "backends/host/rdma_reader.h"
#include "backends/host/settings_reader.h"

namespace gradhaul {
namespace {

constexpr int kAmd = 0x1002;

// Display and processing classes of makers whose GPUs do collectives.
bool is_gpu(const PciFunction& function) {
  const int kind = function.pci_class >> 8;
  const bool maker = function.vendor == kNvidia || function.vendor == kAmd;
  return maker && (kind == 0x0300 || kind == 0x0302 || kind == 0x0380 || kind == 0x1200) &&
         !function.virtual_function;
}

}  // namespace

HostInventory read_host(const HostTree& tree) {
  HostInventory host;
  read_processors(tree, host);
  host.pci = read_pci(tree);
  for (int i = 0; i < static_cast<int>(host.pci.size()); ++i) {
    if (is_gpu(host.pci[i])) host.gpus.push_back(i);
  }
  host.rdma = read_rdma(tree, host.pci);
  host.net = read_net(tree, host.pci);
  for (int i = 0; i < static_cast<int>(host.pci.size()); ++i) {
    const PciFunction& function = host.pci[i];
    // In a guest a virtual function has no `physfn` and counts as the device it is handed out as.
    const bool counts = !function.virtual_function;
    if ((function.is_network() || !host.rdma_of(i).empty()) && counts) host.nics.push_back(i);
  }
  read_queue_pairs(tree, host);
  host.settings = read_settings(tree);
  return host;
}

}  // namespace gradhaul
