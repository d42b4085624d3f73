#include "core/channel_groups.h"

#include <algorithm>
#include <bit>

#include "core/collective_algorithms.h"

namespace gradhaul {
namespace {

bool same_hop(const Hop& a, const Hop& b) {
  return a.source_nic == b.source_nic && a.destination_nic == b.destination_nic &&
         a.relay_gpu == b.relay_gpu;
}

// Hops that are not in the crossings are the same between all nodes.
bool same_paths(const Placement& placement, const Cluster& cluster, int a, int b) {
  const auto first = static_cast<std::size_t>(a);
  const auto second = static_cast<std::size_t>(b);
  if (placement.rings[first] != placement.rings[second]) return false;
  if (placement.crossings[first] != placement.crossings[second]) return false;
  if (cluster.nodes == 1) return true;
  const int per_node = placement.ranks_per_node;
  for (Rank source = 0; source < per_node; ++source) {
    for (Rank destination = per_node; destination < 2 * per_node; ++destination) {
      if (!same_hop(hop_between(placement, cluster, a, source, destination),
                    hop_between(placement, cluster, b, source, destination))) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<std::vector<int>> channel_groups(const Placement& placement, const Cluster& cluster) {
  std::vector<std::vector<int>> groups;
  for (int channel = 0; channel < placement.channels; ++channel) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return same_paths(placement, cluster, group.front(), channel);
    });
    if (same == groups.end()) {
      groups.push_back({channel});
    } else {
      same->push_back(channel);
    }
  }
  return groups;
}

std::int64_t grouped_connections(std::size_t groups, Rank ranks, Collective collective,
                                 Algorithm algorithm, int ranks_per_node) {
  const auto times = static_cast<std::int64_t>(groups);
  const std::int64_t others = ranks - 1;
  const std::int64_t nodes = ranks / ranks_per_node;
  const std::int64_t within = (ranks_per_node - 1) * nodes;  // of a rank, once there or back
  const std::int64_t dimensions = std::bit_width(static_cast<std::uint64_t>(ranks)) - 1;
  switch (running_algorithm(collective, algorithm)) {
    case Algorithm::kPairwise:
      return times * ranks * (collective == Collective::kSendRecv ? 1 : others);
    case Algorithm::kListed:
      return times * ranks * others;  // at most
    case Algorithm::kTree:
    case Algorithm::kParameterServer:
      return times * 2 * others;  // up and down
    case Algorithm::kDoubleBinaryTree:
      return times * 4 * others;
    case Algorithm::kHierarchical:
      if (collective == Collective::kAllToAll) return times * ranks * (within + nodes - 1);
      return times * ranks * (2 * within + 2 * nodes - 2);
    case Algorithm::kHalvingDoubling:
      return times * ranks * 2 * dimensions;
    case Algorithm::kRecursiveDoubling:
      return times * ranks * dimensions;
    case Algorithm::kRing:
      break;
  }
  return times * ranks;
}

}  // namespace gradhaul
