#include "backends/host/thread_place.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "backends/host/settings_reader.h"

namespace gradhaul {
namespace {

using Processors = std::set<int>;

constexpr int kMostProcessors = 1 << 14;

// "0-15,32-47"; what is no such list is empty.
Processors processors_of(const std::string& list) {
  Processors processors;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int first = 0;
    const auto [after_first, error] = std::from_chars(at, end, first);
    if (error != std::errc()) return {};
    int last = first;
    at = after_first;
    if (at < end && *at == '-') {
      const auto [after_last, wrong] = std::from_chars(at + 1, end, last);
      if (wrong != std::errc()) return {};
      at = after_last;
    }
    if (first < 0 || last >= kMostProcessors) return {};
    for (int processor = first; processor <= last; ++processor) processors.insert(processor);
    if (at < end && *at++ != ',') return {};
  }
  return processors;
}

std::string list_of(const Processors& processors) {
  std::string text;
  for (auto at = processors.begin(); at != processors.end();) {
    const int first = *at;
    int last = first;
    while (++at != processors.end() && *at == last + 1) last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

// The kernel's masks, of as many processors as there may be.
class Mask {
 public:
  Mask() : bits_(CPU_ALLOC(kMostProcessors)) {
    if (bits_ == nullptr) throw std::bad_alloc();
    CPU_ZERO_S(size(), bits_.get());
  }
  static std::size_t size() { return CPU_ALLOC_SIZE(kMostProcessors); }
  cpu_set_t* get() { return bits_.get(); }
  void add(int processor) { CPU_SET_S(static_cast<std::size_t>(processor), size(), bits_.get()); }
  bool has(int processor) {
    return CPU_ISSET_S(static_cast<std::size_t>(processor), size(), bits_.get());
  }

 private:
  struct Free {
    void operator()(cpu_set_t* bits) const { CPU_FREE(bits); }
  };
  std::unique_ptr<cpu_set_t, Free> bits_;
};

Processors allowed_processors() {
  Mask mask;
  Processors allowed;
  if (sched_getaffinity(0, Mask::size(), mask.get()) != 0) return allowed;
  for (int processor = 0; processor < kMostProcessors; ++processor) {
    if (mask.has(processor)) allowed.insert(processor);
  }
  return allowed;
}

// Where the device is; nothing, and why, where that is not told.
std::optional<int> node_of(const HostTree& tree, const ServedDevice& device, std::string& why) {
  if (device.folder.empty()) {
    why = device.name + " is no PCI device, and near to no processor more than to another";
    return std::nullopt;
  }
  const auto node = tree.number(device.folder + "/numa_node");
  if (node && *node >= 0 && *node < kMostProcessors) return static_cast<int>(*node);
  why = "which NUMA node " + device.name + " is at is not told (numa_node " +
        (node ? std::to_string(*node) : std::string("is missing")) + "), as in virtual machines";
  return std::nullopt;
}

const NumaNode* numa_node(const HostInventory& host, int number) {
  for (const NumaNode& node : host.numa_nodes) {
    if (node.number == number) return &node;
  }
  return nullptr;
}

}  // namespace

ThreadPlacer::ThreadPlacer(const HostTree& tree, const ThreadPlacement& placement)
    : tree_(tree), placement_(placement), allowed_(allowed_processors()) {
  read_processors(tree_, host_);
}

ThreadPlace ThreadPlacer::run_on(const Processors& wanted, const std::string& words) const {
  Processors chosen;
  std::set_intersection(wanted.begin(), wanted.end(), allowed_.begin(), allowed_.end(),
                        std::inserter(chosen, chosen.end()));
  if (chosen.empty()) {
    return {"",
            "none of processors " + list_of(wanted) + ", " + words +
                ", is among those that this process may use (" + list_of(allowed_) +
                "); check taskset, numactl, the container and how the batch system binds",
            true};
  }
  Mask mask;
  for (const int processor : chosen) mask.add(processor);
  if (sched_setaffinity(0, Mask::size(), mask.get()) != 0) {
    return {"",
            "the kernel refuses to run it on processors " + list_of(chosen) + ": " +
                std::generic_category().message(errno),
            true};
  }
  return {list_of(chosen), words, false};
}

ThreadPlace ThreadPlacer::run_on_socket(std::size_t number) const {
  Processors wanted;
  for (const NumaNode& node : host_.numa_nodes) {
    if (number < host_.sockets.size() && node.socket == host_.sockets[number]) {
      wanted.merge(processors_of(node.cpus));
    }
  }
  const std::string name = "socket" + std::to_string(number);
  if (wanted.empty()) {
    throw ThreadPlaceError("no " + name + " shows its processors here; this host has " +
                           std::to_string(host_.sockets.size()) +
                           (host_.sockets.size() == 1 ? " socket" : " sockets"));
  }
  ThreadPlace place = run_on(wanted, "those of " + name);
  if (place.amiss) throw ThreadPlaceError(place.why);
  return place;
}

ThreadPlace ThreadPlacer::run_near(const ServedDevice& device, int number) const {
  const NumaNode* const node = numa_node(host_, number);
  const Processors wanted = node == nullptr ? Processors{} : processors_of(node->cpus);
  const std::string where = "NUMA node " + std::to_string(number);
  if (wanted.empty()) return {"", device.name + " is at " + where + ", which shows no processors"};
  return run_on(wanted, "those of " + where + ", where " + device.name + " is");
}

ThreadPlace ThreadPlacer::run_elsewhere(const ServedDevice& device, int number) const {
  const NumaNode* const node = numa_node(host_, number);
  const auto& sockets = host_.sockets;
  const auto own =
      node == nullptr ? sockets.end() : std::find(sockets.begin(), sockets.end(), node->socket);
  if (own == sockets.end() || sockets.size() < 2) {
    throw ThreadPlaceError("other_socket: this host shows no other socket than that of " +
                           device.name);
  }
  return run_on_socket((static_cast<std::size_t>(own - sockets.begin()) + 1) % sockets.size());
}

ThreadPlace ThreadPlacer::place(const ServedDevice* device) const {
  if (placement_.at == ThreadPlacement::At::kOne) {
    return run_on_socket(static_cast<std::size_t>(placement_.socket));
  }
  if (device == nullptr) return {"", "no device is known that it serves"};
  std::string why;
  const std::optional<int> node = node_of(tree_, *device, why);
  if (placement_.at == ThreadPlacement::At::kOther) {
    if (!node) throw ThreadPlaceError("other_socket: " + why);
    return run_elsewhere(*device, *node);
  }
  if (host_.numa_nodes.size() < 2) return {"", "this host has one NUMA node"};
  if (!node) return {"", why};
  return run_near(*device, *node);
}

std::string text_of(const ThreadPlace& place) {
  return (place.processors.empty() ? "anywhere" : "processors " + place.processors) + ": " +
         place.why;
}

}  // namespace gradhaul
