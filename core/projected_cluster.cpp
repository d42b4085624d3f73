#include "core/projected_cluster.h"

#include <algorithm>
#include <string>

#include "core/assert.h"
#include "core/pcie_distance.h"

namespace gradhaul {
namespace {

// What `name` ("gpu3") is called where its number is the place of 3 in `kept`; empty: not there.
std::string renamed(const std::string& name, const std::string& kind,
                    const std::vector<int>& kept) {
  if (!name.starts_with(kind)) return "";
  const int number = std::stoi(name.substr(kind.size()));
  const auto place = std::find(kept.begin(), kept.end(), number);
  return place == kept.end() ? "" : kind + std::to_string(place - kept.begin());
}

// Where there is no PCIe a GPU and its NIC are one, by their numbers, which now are others: a
// switch for each NIC says the same.
std::vector<PcieBranch> switch_for_each_nic(const Node& node, const ProjectedCluster& projected) {
  std::vector<PcieBranch> branches;
  for (std::size_t nic = 0; nic < projected.nics.size(); ++nic) {
    PcieBranch branch;
    branch.switch_name = "sw" + std::to_string(nic);
    branch.parent = "socket0";
    branch.devices.push_back("nic" + std::to_string(nic));
    for (std::size_t gpu = 0; gpu < projected.gpus.size(); ++gpu) {
      if (projected.gpus[gpu] % node.nic_count != projected.nics[nic]) continue;
      branch.devices.push_back("gpu" + std::to_string(gpu));
    }
    branches.push_back(branch);
  }
  return branches;
}

Node project_node(const Node& node, const ProjectedCluster& projected) {
  Node kept = node;
  kept.gpu_count = static_cast<int>(projected.gpus.size());
  kept.nic_count = static_cast<int>(projected.nics.size());
  if (node.pcie.empty()) {
    if (node.nic_count == 0) return kept;
    kept.gpu.pcie = std::nullopt;
    kept.pcie = switch_for_each_nic(node, projected);
    return kept;
  }
  for (PcieBranch& branch : kept.pcie) {
    std::vector<std::string> devices;
    for (const std::string& device : branch.devices) {
      const std::string gpu = renamed(device, "gpu", projected.gpus);
      const std::string nic = renamed(device, "nic", projected.nics);
      if (!gpu.empty()) devices.push_back(gpu);
      if (!nic.empty()) devices.push_back(nic);
    }
    branch.devices = devices;
  }
  return kept;
}

}  // namespace

std::vector<int> nics_near(const Node& node, const std::vector<int>& gpus) {
  const PcieDistances distances(node);
  std::vector<int> near;
  for (const int gpu : gpus) {
    const std::vector<int> nearest = distances.nearest_nics(gpu);
    near.insert(near.end(), nearest.begin(), nearest.end());
  }
  std::sort(near.begin(), near.end());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  return near;
}

Cluster with_lone_ranks(Cluster cluster, int ranks) {
  cluster.nodes = ranks;
  cluster.ranks_per_node = 1;
  return cluster;
}

std::optional<ProjectedCluster> project(const Cluster& cluster, const std::vector<int>& gpus) {
  GRADHAUL_ASSERT(!gpus.empty(), "a communicator has ranks");
  const int per_node = cluster.node.gpu_count;
  ProjectedCluster projected;
  for (const int gpu : gpus) {
    const int node = gpu / per_node;
    if (projected.nodes.empty() || projected.nodes.back() != node) projected.nodes.push_back(node);
    if (projected.nodes.size() == 1) projected.gpus.push_back(gpu % per_node);
  }
  const std::size_t each = projected.gpus.size();
  if (projected.nodes.size() * each != gpus.size()) return std::nullopt;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i] != projected.nodes[i / each] * per_node + projected.gpus[i % each]) {
      return std::nullopt;
    }
  }
  std::vector<int> visited = projected.nodes;
  std::sort(visited.begin(), visited.end());
  if (std::adjacent_find(visited.begin(), visited.end()) != visited.end()) return std::nullopt;
  projected.nics = nics_near(cluster.node, projected.gpus);
  projected.cluster = cluster;
  // Called by names that parts do not have here; where ranks go does not depend on them.
  projected.cluster.faults = {};
  projected.cluster.nodes = static_cast<int>(projected.nodes.size());
  projected.cluster.ranks_per_node = static_cast<int>(each);
  projected.cluster.node = project_node(cluster.node, projected);
  return projected;
}

}  // namespace gradhaul
