#include "core/pcie_distance.h"

#include <algorithm>
#include <string_view>

#include "core/assert.h"

namespace gradhaul {

namespace {

constexpr std::string_view kSocket = "socket";

bool is_switch(int step) { return step >= 0; }

template <typename Wanted>
int branch_where(const Node& node, const Wanted& wanted) {
  const auto found = std::find_if(node.pcie.begin(), node.pcie.end(), wanted);
  GRADHAUL_ASSERT(found != node.pcie.end(), "what hangs in the PCIe tree hangs at a socket");
  return static_cast<int>(found - node.pcie.begin());
}

}  // namespace

PcieDistances::PcieDistances(const Node& node)
    : nics_(node.nic_count), without_pcie_(node.pcie.empty()) {
  if (without_pcie_) return;
  for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
    gpu_paths_.push_back(path_up(node, "gpu" + std::to_string(gpu)));
  }
  for (int nic = 0; nic < node.nic_count; ++nic) {
    nic_paths_.push_back(path_up(node, "nic" + std::to_string(nic)));
  }
}

PcieDistances::Path PcieDistances::path_up(const Node& node, const std::string& device) {
  int branch = branch_where(node, [&](const PcieBranch& candidate) {
    return std::find(candidate.devices.begin(), candidate.devices.end(), device) !=
           candidate.devices.end();
  });
  Path path;
  if (!node.pcie[branch].switch_name.empty()) path.push_back(branch);
  while (!node.pcie[branch].parent.starts_with(kSocket)) {
    GRADHAUL_ASSERT(path.size() <= node.pcie.size(), "the switches above a device form no circle");
    branch = branch_where(node, [&](const PcieBranch& candidate) {
      return candidate.switch_name == node.pcie[branch].parent;
    });
    path.push_back(branch);
  }
  path.push_back(-1 - std::stoi(node.pcie[branch].parent.substr(kSocket.size())));
  return path;
}

PcieDistance PcieDistances::between(const Path& left, const Path& right) {
  if (left.back() != right.back()) return PcieDistance::kOtherSocket;
  if (left.front() == right.front() && is_switch(left.front())) return PcieDistance::kSameSwitch;
  // Devices straight at a socket have a root port each.
  if (left.size() < 2 || right.size() < 2) return PcieDistance::kSameSocket;
  const bool share_top_switch = left[left.size() - 2] == right[right.size() - 2];
  return share_top_switch ? PcieDistance::kSameRootPort : PcieDistance::kSameSocket;
}

PcieDistance PcieDistances::gpu_to_nic(int gpu, int nic) const {
  if (without_pcie_) {
    return gpu % nics_ == nic ? PcieDistance::kNothing : PcieDistance::kSameSocket;
  }
  return between(gpu_paths_[gpu], nic_paths_[nic]);
}

PcieDistance PcieDistances::gpu_to_gpu(int left, int right) const {
  if (without_pcie_) return left == right ? PcieDistance::kNothing : PcieDistance::kSameSocket;
  return between(gpu_paths_[left], gpu_paths_[right]);
}

std::vector<int> PcieDistances::nearest_nics(int gpu) const {
  std::vector<int> nearest;
  for (int nic = 0; nic < nics_; ++nic) {
    if (!nearest.empty() && gpu_to_nic(gpu, nic) > gpu_to_nic(gpu, nearest.front())) continue;
    if (!nearest.empty() && gpu_to_nic(gpu, nic) < gpu_to_nic(gpu, nearest.front()))
      nearest.clear();
    nearest.push_back(nic);
  }
  return nearest;
}

std::vector<int> PcieDistances::nearest_gpus(int nic, int gpus) const {
  std::vector<int> nearest;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    if (!nearest.empty() && gpu_to_nic(gpu, nic) > gpu_to_nic(nearest.front(), nic)) continue;
    if (!nearest.empty() && gpu_to_nic(gpu, nic) < gpu_to_nic(nearest.front(), nic))
      nearest.clear();
    nearest.push_back(gpu);
  }
  return nearest;
}

}  // namespace gradhaul
