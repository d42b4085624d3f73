#include "core/channel_groups.h"

#include <algorithm>

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
                                 Algorithm algorithm) {
  const auto times = static_cast<std::int64_t>(groups);
  const std::int64_t others = ranks - 1;
  if (collective == Collective::kAllToAll) return times * ranks * others;
  const bool tree =
      collective == Collective::kAllReduce && algorithm == Algorithm::kDoubleBinaryTree;
  // Two trees, up and down.
  return tree ? times * 4 * others : times * ranks;
}

}  // namespace gradhaul
