#include "core/job.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/assert.h"
#include "core/pcie_distance.h"
#include "core/topology_size.h"

namespace gradhaul {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

std::vector<int> scattered(std::vector<int> free, std::uint64_t seed, std::size_t job) {
  const auto place = [&](int gpu) {
    const std::uint64_t drawn = mixed(mixed(mixed(seed) ^ job) ^ static_cast<std::uint64_t>(gpu));
    return std::pair(drawn, gpu);
  };
  std::sort(free.begin(), free.end(), [&](int a, int b) { return place(a) < place(b); });
  return free;
}

// By the leaf of the NIC nearest to each: one of each leaf, then the next one of each.
std::vector<int> by_leaves(const Cluster& cluster, const std::vector<int>& free) {
  const PcieDistances distances(cluster.node);
  const Node& node = cluster.node;
  std::map<int, std::vector<int>> of_leaves;
  for (const int gpu : free) {
    const int nic = distances.nearest_nics(gpu % node.gpu_count).front();
    of_leaves[leaf_of(cluster.network.topology, cluster.nodes, node.nic_count, gpu / node.gpu_count,
                      nic)]
        .push_back(gpu);
  }
  std::vector<int> order;
  for (std::size_t turn = 0; order.size() < free.size(); ++turn) {
    for (const auto& [leaf, gpus] : of_leaves) {
      if (turn < gpus.size()) order.push_back(gpus[turn]);
    }
  }
  return order;
}

}  // namespace

std::vector<std::vector<int>> place_jobs(const Cluster& cluster,
                                         const std::vector<JobPlacementRequest>& requests,
                                         std::uint64_t seed) {
  std::vector<int> free;
  for (Rank rank = 0; rank < cluster.ranks(); ++rank) free.push_back(cluster.gpu_of(rank));
  const auto take = [&free](const std::vector<int>& gpus) {
    for (const int gpu : gpus) {
      const auto found = std::find(free.begin(), free.end(), gpu);
      GRADHAUL_ASSERT(found != free.end(), "each GPU belongs to one job");
      free.erase(found);
    }
  };
  std::vector<std::vector<int>> placed(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].placement != JobPlacement::kListed) continue;
    placed[i] = requests[i].listed;
    take(placed[i]);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const JobPlacementRequest& request = requests[i];
    if (request.placement == JobPlacement::kListed) continue;
    std::vector<int> order = free;
    if (request.placement == JobPlacement::kScattered) order = scattered(free, seed, i);
    if (request.placement == JobPlacement::kOnePerLeaf) order = by_leaves(cluster, free);
    const auto ranks = static_cast<std::size_t>(request.ranks);
    GRADHAUL_ASSERT(ranks <= order.size(), "there are GPUs enough");
    order.resize(ranks);
    std::sort(order.begin(), order.end());
    take(order);
    placed[i] = std::move(order);
  }
  return placed;
}

}  // namespace gradhaul
