#include "core/step_communication.h"

#include "core/collective_algorithms.h"

namespace gradhaul {

Communication communication_in_group(const Communication& plan, Collective collective,
                                     const Cluster& cluster, int all_ranks) {
  Communication own = plan;
  if (cluster.ranks() != all_ranks) {
    own.listed_rings.clear();
    if (own.ring_order == RingOrder::kListed) own.ring_order = RingOrder::kBalanced;
  }
  const bool one_level = cluster.nodes == 1 || cluster.ranks_per_node == 1;
  if (!has_algorithm(collective, own.algorithm) || (needs_two_levels(own.algorithm) && one_level)) {
    own.algorithm = Algorithm::kRing;
  }
  return own;
}

}  // namespace gradhaul
