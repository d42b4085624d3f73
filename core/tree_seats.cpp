#include "core/tree_seats.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

BinaryTreePlace first_tree_place(int node, int nodes) {
  int bit = 1;
  while (bit < nodes && (bit & node) == 0) bit <<= 1;
  BinaryTreePlace place;
  if (node == 0) {
    if (nodes > 1) place.children[1] = bit >> 1;
    return place;
  }
  place.parent = (node ^ bit) | (bit << 1);
  if (place.parent >= nodes) place.parent = node ^ bit;
  int below = bit >> 1;
  if (below == 0) return place;
  place.children[0] = node - below;
  // The subtree above this place may be cut short by the number of nodes: its root is then lower.
  while (below > 0 && node + below >= nodes) below >>= 1;
  if (below > 0) place.children[1] = node + below;
  return place;
}

// The ranks of each node in ring order, nodes in the order in which the ring first meets them.
std::vector<std::vector<Rank>> chains_of(const std::vector<Rank>& ring, int ranks_per_node) {
  std::vector<std::vector<Rank>> chains;
  std::vector<int> chain_of_node(ring.size(), -1);
  for (const Rank rank : ring) {
    int& chain = chain_of_node[static_cast<std::size_t>(rank / ranks_per_node)];
    if (chain < 0) {
      chain = static_cast<int>(chains.size());
      chains.emplace_back();
    }
    chains[static_cast<std::size_t>(chain)].push_back(rank);
  }
  const Rank rail = chains.front().front() % ranks_per_node;
  for (std::vector<Rank>& chain : chains) {
    if (chain.front() % ranks_per_node != rail && chain.back() % ranks_per_node == rail) {
      std::reverse(chain.begin(), chain.end());
    }
  }
  return chains;
}

}  // namespace

BinaryTreePlace binary_tree_place(int node, int nodes, int tree) {
  if (tree == 0) return first_tree_place(node, nodes);
  const bool mirrored = nodes % 2 == 0;
  const auto renamed = [&](int place) {
    if (place < 0) return place;
    return mirrored ? nodes - 1 - place : (place + 1) % nodes;
  };
  const int original = mirrored ? nodes - 1 - node : (node - 1 + nodes) % nodes;
  const BinaryTreePlace place = first_tree_place(original, nodes);
  return {renamed(place.parent), {renamed(place.children[0]), renamed(place.children[1])}};
}

TreeSeats::TreeSeats(const std::vector<std::vector<Rank>>& rings, int ranks_per_node, int trees)
    : ranks_(rings.empty() ? 0 : static_cast<Rank>(rings.front().size())),
      channels_(static_cast<int>(rings.size())),
      trees_(trees) {
  GRADHAUL_ASSERT(trees == 1 || trees == 2, "one tree or two");
  GRADHAUL_ASSERT(ranks_ >= 2 && ranks_per_node >= 1, "a tree joins at least two ranks");
  seats_.resize(rings.size() * static_cast<std::size_t>(trees * ranks_));
  for (int channel = 0; channel < channels_; ++channel) {
    const std::vector<Rank>& ring = rings[static_cast<std::size_t>(channel)];
    std::vector<Rank> sorted = ring;
    std::sort(sorted.begin(), sorted.end());
    for (Rank r = 0; r < ranks_; ++r) {
      GRADHAUL_ASSERT(sorted.size() == static_cast<std::size_t>(ranks_) &&
                          sorted[static_cast<std::size_t>(r)] == r,
                      "an order holds each rank once");
    }
    seat_channel(channel, chains_of(ring, ranks_per_node));
  }
}

void TreeSeats::seat_channel(int channel, const std::vector<std::vector<Rank>>& chains) {
  const auto head = [&](int node) { return chains[static_cast<std::size_t>(node)].front(); };
  const auto nodes = static_cast<int>(chains.size());
  for (int tree = 0; tree < trees_; ++tree) {
    for (int node = 0; node < nodes; ++node) {
      const std::vector<Rank>& chain = chains[static_cast<std::size_t>(node)];
      for (std::size_t i = 0; i < chain.size(); ++i) {
        TreeSeat& seat = seats_[index(chain[i], channel, tree)];
        const auto add_child = [&](Rank child) {
          seat.children[static_cast<std::size_t>(seat.child_count++)] = child;
        };
        // The chain first: it is the nearest, and its sum the first to be there.
        if (i + 1 < chain.size()) add_child(chain[i + 1]);
        if (i > 0) {
          seat.parent = chain[i - 1];
          continue;
        }
        const BinaryTreePlace place = binary_tree_place(node, nodes, tree);
        if (place.parent >= 0) seat.parent = head(place.parent);
        for (const int child : place.children) {
          if (child >= 0) add_child(head(child));
        }
      }
    }
  }
}

}  // namespace gradhaul
