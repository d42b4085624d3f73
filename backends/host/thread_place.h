#pragma once

// Where a thread that posts to a NIC and polls for its completions runs: near the NIC, or where it
// is told. What it allocates from then on is of the memory there, by the kernel's own rule.

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"
#include "core/thread_placement.h"

namespace gradhaul {

// A thread can't run where it was told to.
class ThreadPlaceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device that a thread serves.
struct ServedDevice {
  std::string name;    // "mlx5_0"
  std::string folder;  // of the PCI device: "/sys/devices/pci0000:17/0000:17:01.0/0000:18:00.0"
};

struct ThreadPlace {
  std::string processors;  // "0-15,32-47"; empty: the thread was left alone
  std::string why;         // "those of NUMA node 0, where mlx5_0 is", or why it was left alone
  bool amiss = false;      // left alone where it should not be: it may run far from its device
};

// For the thread that makes it: what it may use then (taskset, numactl, a batch system) is never
// widened.
class ThreadPlacer {
 public:
  ThreadPlacer(const HostTree& tree, const ThreadPlacement& placement);

  // Has the calling thread run on the processors that it is placed on. kGpu: of the device's NUMA
  // node, and for another device anew. kOne needs no device (nullptr). Throws ThreadPlaceError
  // where kOne or kOther can't be.
  ThreadPlace place(const ServedDevice* device) const;

 private:
  ThreadPlace run_on(const std::set<int>& wanted, const std::string& words) const;
  ThreadPlace run_on_socket(std::size_t number) const;
  ThreadPlace run_near(const ServedDevice& device, int number) const;
  ThreadPlace run_elsewhere(const ServedDevice& device, int number) const;

  HostTree tree_;
  ThreadPlacement placement_;
  HostInventory host_;     // its processors alone
  std::set<int> allowed_;  // processors
};

// "processors 0-15: those of NUMA node 0, where mlx5_0 is", "anywhere: …".
std::string text_of(const ThreadPlace& place);

}  // namespace gradhaul
