#include "core/pcie_distance.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

namespace {

bool is_socket(const std::string& name) { return name.starts_with("socket"); }

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
  const auto holds_device = [&](const PcieBranch& branch) {
    return std::find(branch.devices.begin(), branch.devices.end(), device) != branch.devices.end();
  };
  auto branch = std::find_if(node.pcie.begin(), node.pcie.end(), holds_device);
  GRADHAUL_ASSERT(branch != node.pcie.end(), "every device hangs somewhere in the PCIe tree");
  Path path;
  if (!branch->switch_name.empty()) path.push_back(branch->switch_name);
  path.push_back(branch->parent);
  while (!is_socket(path.back())) {
    GRADHAUL_ASSERT(path.size() <= node.pcie.size(), "the switches above a device form no circle");
    branch = std::find_if(node.pcie.begin(), node.pcie.end(), [&](const PcieBranch& candidate) {
      return candidate.switch_name == path.back();
    });
    GRADHAUL_ASSERT(branch != node.pcie.end(), "a switch's parent is a socket or another switch");
    path.push_back(branch->parent);
  }
  return path;
}

PcieDistance PcieDistances::between(const Path& left, const Path& right) {
  if (left.back() != right.back()) return PcieDistance::kOtherSocket;
  if (left.front() == right.front() && !is_socket(left.front())) return PcieDistance::kSameSwitch;
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
