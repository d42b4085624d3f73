#include "scenarios/nvidia_topology_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/imported_node.h"
#include "scenarios/nvidia_matrix.h"

namespace gradhaul {
namespace {

// GPUs by how many NVLinks lead to an NVSwitch, with GB/s of one link and direction by the makers'
// data sheets and what NCCL takes of it (src/graph/topo.h).
struct SwitchedGpu {
  int links;
  const char* shipped;  // the model in scenarios/devices that stands in; empty: none
  PcieLink pcie;
  double of_nccl;
  const char* others;
};
constexpr double kLinkNominal = 25;
constexpr SwitchedGpu kSwitchedGpus[] = {
    {6, "", {3, 16}, 20, "a V100"},
    {8, "", {4, 16}, 20, "an A800 or H800"},
    {12, "a100-sxm", {4, 16}, 20, "an A100"},
    {18, "h100-sxm", {5, 16}, 20.6, "an H100 or H200, or a B200, whose links carry twice as much"},
};

// Devices that are no farther from each other than some distance.
class NearDevices {
 public:
  explicit NearDevices(std::size_t devices) : of_(devices) {
    std::iota(of_.begin(), of_.end(), std::size_t{0});
  }
  // The first of those together with it.
  std::size_t first(std::size_t device) const {
    while (of_[device] != device) device = of_[device];
    return device;
  }
  void join(std::size_t left, std::size_t right) {
    const auto [low, high] = std::minmax({first(left), first(right)});
    of_[high] = low;
  }
  bool together(std::size_t left, std::size_t right) const { return first(left) == first(right); }

 private:
  std::vector<std::size_t> of_;
};

class TreeOfDistances {
 public:
  TreeOfDistances(const NvidiaMatrix& matrix, const std::string& file, Problems& problems)
      : matrix_(matrix), file_(file), problems_(problems), node_(identify_) {
    // From near to far, each with the ones before.
    for (const NvidiaDistance most : {NvidiaDistance::kPix, NvidiaDistance::kPxb,
                                      NvidiaDistance::kPhb, NvidiaDistance::kNode}) {
      near_.push_back(join(most));
    }
    join_by_affinity(near_.back());
  }

  std::optional<NodeDraft> draft() {
    check();
    if (!problems_.empty()) return std::nullopt;
    read_nvlink();
    for (std::size_t device = 0; device < devices(); ++device) {
      if (sockets().first(device) == device) socket_firsts_.push_back(device);
    }
    if (socket_firsts_.size() > static_cast<std::size_t>(kMostImportedSockets)) {
      fail(1, fmt::format("it tells {} NUMA nodes apart, and a node has at most {} sockets",
                          socket_firsts_.size(), kMostImportedSockets));
      return std::nullopt;
    }
    for (std::size_t socket = 0; socket < socket_firsts_.size(); ++socket) add_socket(socket);
    node_.draft().sockets = static_cast<int>(socket_firsts_.size());
    node_.take_devices();
    describe();
    return std::move(node_.draft());
  }

 private:
  std::size_t devices() const { return matrix_.devices.size(); }
  const NearDevices& switches() const { return near_[0]; }
  const NearDevices& upper_switches() const { return near_[1]; }
  const NearDevices& sockets() const { return near_.back(); }
  void fail(int line, const std::string& what) { problems_.add({file_, line, 1}, what); }

  NearDevices join(NvidiaDistance most) const {
    NearDevices near(devices());
    for (std::size_t row = 0; row < devices(); ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        if (matrix_.of[row][column].distance <= most) near.join(row, column);
      }
    }
    return near;
  }

  // NVLink hides what PCIe would be: GPUs near the same memory are at the same socket.
  void join_by_affinity(NearDevices& near) const {
    for (std::size_t row = 0; row < devices(); ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        const std::string& numa = matrix_.devices[row].numa;
        const bool hidden = matrix_.of[row][column].distance == NvidiaDistance::kNvlink;
        if (hidden && !numa.empty() && numa == matrix_.devices[column].numa) near.join(row, column);
      }
    }
  }

  NvidiaDistance in_tree(std::size_t left, std::size_t right) const {
    for (std::size_t level = 0; level < near_.size(); ++level) {
      if (near_[level].together(left, right)) {
        return static_cast<NvidiaDistance>(static_cast<std::size_t>(NvidiaDistance::kPix) + level);
      }
    }
    return NvidiaDistance::kSys;
  }

  // Who is near to one is near to all that are near to that one, or there is no such tree.
  void check() {
    for (std::size_t row = 0; row < devices(); ++row) {
      for (std::size_t column = 0; column < row; ++column) {
        const NvidiaDistance told = matrix_.of[row][column].distance;
        const NvidiaDistance found = in_tree(row, column);
        if (told == NvidiaDistance::kNvlink || told == found) continue;
        fail(matrix_.devices[row].line,
             fmt::format("no machine is like this: {} to {} is said to be {}, and by way of other "
                         "devices it is {}",
                         matrix_.devices[row].name, matrix_.devices[column].name, name_of(told),
                         name_of(found)));
        return;
      }
    }
  }

  void add_socket(std::size_t socket) {
    const std::string parent = fmt::format("socket{}", socket);
    for (std::size_t first = 0; first < devices(); ++first) {
      const bool here = sockets().together(first, socket_firsts_[socket]);
      if (!here || upper_switches().first(first) != first) continue;
      const std::vector<std::size_t> below = firsts_below(first);
      if (below.size() == 1) {
        add_switch(first, parent);
        continue;
      }
      const std::string name = node_.next_switch();
      node_.add_branch(name, parent, link_, "switch");
      for (const std::size_t each : below) add_switch(each, name);
    }
  }

  // Of the switches below an upper one, the first devices.
  std::vector<std::size_t> firsts_below(std::size_t upper) const {
    std::vector<std::size_t> firsts;
    for (std::size_t device = 0; device < devices(); ++device) {
      if (upper_switches().first(device) == upper && switches().first(device) == device) {
        firsts.push_back(device);
      }
    }
    return firsts;
  }

  void add_switch(std::size_t first, const std::string& parent) {
    std::vector<std::size_t> members;
    for (std::size_t device = first; device < devices(); ++device) {
      if (switches().first(device) == first) members.push_back(device);
    }
    const bool alone = members.size() == 1 && parent.starts_with("socket");
    const std::size_t branch =
        node_.add_branch(alone ? "" : node_.next_switch(), parent,
                         alone ? std::nullopt : std::optional(link_), alone ? "" : "switch");
    for (const std::size_t member : members) {
      const NvidiaMatrix::Device& device = matrix_.devices[member];
      ImportedDevice found;
      found.place = device.name;
      if (!device.alias.empty()) found.place += " (" + device.alias + ")";
      found.order = static_cast<int>(member);
      found.branch = branch;
      device.gpu ? node_.add_gpu(found) : node_.add_nic(found);
    }
  }

  // One number of links between every two GPUs leads over NVSwitches.
  void read_nvlink() {
    int pairs = 0;
    int linked = 0;
    int gpus = 0;
    for (std::size_t row = 0; row < devices(); ++row) {
      gpus += matrix_.devices[row].gpu ? 1 : 0;
      for (std::size_t column = 0; column < row; ++column) {
        if (!matrix_.devices[row].gpu || !matrix_.devices[column].gpu) continue;
        ++pairs;
        const NvidiaRelation& relation = matrix_.of[row][column];
        if (relation.distance != NvidiaDistance::kNvlink) continue;
        ++linked;
        links_ = links_ == 0 || links_ == relation.links ? relation.links : -1;
      }
    }
    if (linked == 0) return;
    for (const SwitchedGpu& gpu : kSwitchedGpus) {
      if (linked == pairs && gpu.links == links_) gpu_ = &gpu;
    }
    if (gpu_ == nullptr) {
      node_.note("its NVLinks lead from GPU to GPU, and are left out");
      return;
    }
    link_ = gpu_->pcie;
    node_.draft().nvlink = BitRate{static_cast<std::int64_t>(gpu_->links * kLinkNominal * 8e9)};
    node_.draft().nvlink_efficiency = gpu_->of_nccl / kLinkNominal;
  }

  void describe() {
    NodeDraft& draft = node_.draft();
    draft.gpu.name = gpu_ == nullptr ? "unknown" : fmt::format("a GPU of {} NVLinks", gpu_->links);
    draft.gpu.shipped = gpu_ == nullptr ? "" : gpu_->shipped;
    draft.gpu.pcie = link_;
    draft.nic.name = "unknown";
    draft.nic.pcie = link_;
    node_.note(
        fmt::format("nvidia-smi topo -m tells distances alone: all PCIe links are assumed "
                    "to be gen{}x{}",
                    link_.generation, link_.lanes));
    if (gpu_ != nullptr) {
      node_.note(fmt::format("NV{} is {}; --gpu names another model", gpu_->links, gpu_->others));
    } else {
      node_.note("it does not tell which GPUs these are: --gpu names a shipped model");
    }
    if (draft.nic_count > 0) node_.note("nor which NICs: --nic names a shipped model");
    if (draft.sockets > 2) node_.note("each NUMA node stands here for a socket");
  }

  const NvidiaMatrix& matrix_;
  const std::string& file_;
  Problems& problems_;
  DeviceIdentifier identify_ = [](int, int) { return IdentifiedDevice{}; };
  ImportedNode node_;
  std::vector<NearDevices> near_;
  std::vector<std::size_t> socket_firsts_;
  PcieLink link_{4, 16};
  const SwitchedGpu* gpu_ = nullptr;
  int links_ = 0;  // between every two GPUs that have some; -1: they differ
};

}  // namespace

std::optional<NodeDraft> read_nvidia_topology(const std::string& lines, const std::string& file,
                                              Problems& problems) {
  const auto matrix = read_nvidia_matrix(lines, file, problems);
  if (!matrix) return std::nullopt;
  return TreeOfDistances(*matrix, file, problems).draft();
}

}  // namespace gradhaul
