#include "core/collective_algorithms.h"

#include <algorithm>
#include <array>

#include "core/assert.h"

namespace gradhaul {

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kDoubleBinaryTree:
      return "double_binary_tree";
    case Algorithm::kHierarchical:
      return "hierarchical";
    case Algorithm::kHalvingDoubling:
      return "halving_doubling";
    case Algorithm::kRecursiveDoubling:
      return "recursive_doubling";
    case Algorithm::kParameterServer:
      return "parameter_server";
    case Algorithm::kPairwise:
      return "pairwise";
    case Algorithm::kListed:
      return "listed";
  }
  assertion_failed("an algorithm", __FILE__, __LINE__, "no such algorithm");
}

std::span<const Algorithm> algorithms_of(Collective collective) {
  using enum Algorithm;
  static constexpr std::array kAllReduce{kRing,
                                         kTree,
                                         kDoubleBinaryTree,
                                         kHierarchical,
                                         kHalvingDoubling,
                                         kRecursiveDoubling,
                                         kParameterServer};
  static constexpr std::array kRings{kRing};
  static constexpr std::array kBroadcast{kRing, kTree};
  static constexpr std::array kExchanges{kPairwise, kHierarchical};
  static constexpr std::array kPairs{kPairwise};
  switch (collective) {
    case Collective::kAllReduce:
      return kAllReduce;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
      return kRings;
    case Collective::kBroadcast:
      return kBroadcast;
    case Collective::kAllToAll:
      return kExchanges;
    case Collective::kSendRecv:
      return kPairs;
  }
  assertion_failed("a collective", __FILE__, __LINE__, "no such collective");
}

bool has_algorithm(Collective collective, Algorithm algorithm) {
  const std::span<const Algorithm> all = algorithms_of(collective);
  return std::find(all.begin(), all.end(), algorithm) != all.end();
}

Algorithm running_algorithm(Collective collective, Algorithm asked) {
  const bool instead = asked == Algorithm::kRing && !has_algorithm(collective, asked);
  return instead ? algorithms_of(collective).front() : asked;
}

bool runs_rings(Collective collective, Algorithm asked) {
  return running_algorithm(collective, asked) == Algorithm::kRing;
}

bool runs_trees(Collective collective, Algorithm asked) {
  const Algorithm algorithm = running_algorithm(collective, asked);
  return algorithm == Algorithm::kTree || algorithm == Algorithm::kDoubleBinaryTree;
}

bool needs_two_levels(Algorithm algorithm) { return algorithm == Algorithm::kHierarchical; }

bool has_levels(Algorithm algorithm, const Cluster& cluster) {
  return !needs_two_levels(algorithm) || (cluster.nodes > 1 && cluster.ranks_per_node > 1);
}

}  // namespace gradhaul
