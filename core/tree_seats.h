#pragma once

// Who is above and below whom in binary trees over nodes with chains inside: the head of a node's
// chain takes part in the trees.
//
// The first tree has its leaves at odd places: place r with lowest set bit b hangs below
// (r ^ b) | 2b, or r ^ b where that is out of bounds; place 0 is the root and has one child. The
// second is its mirror for an even number of nodes, and for an odd one it is shifted by one place,
// so that a node that is inner in one is a leaf in the other (Sanders, Speck, Träff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009).

#include <array>
#include <vector>

#include "core/communication.h"

namespace gradhaul {

// Place of a node in a tree over `nodes` nodes; -1: none.
struct BinaryTreePlace {
  int parent = -1;
  std::array<int, 2> children{-1, -1};
};
// `tree` is 0 or 1; see above.
BinaryTreePlace binary_tree_place(int node, int nodes, int tree);

// A rank's neighbours in a tree.
struct TreeSeat {
  static constexpr int kMaxChildren = 3;  // two nodes and the next of the chain
  Rank parent = -1;                       // -1: the root
  int child_count = 0;
  std::array<Rank, kMaxChildren> children{};  // the chain's first: nearest, and done first
};

class TreeSeats {
 public:
  // `trees`: 2, or 1 for the first alone. Rank r is on node r / ranks_per_node. Nodes, and ranks in
  // a node's chain, follow each other as in the ring of the channel; a chain is turned round where
  // its other end has the same index within the node as the head of the first node's, so that hops
  // between nodes stay on a rail. The first rank of a ring is the root of its first tree.
  TreeSeats(const std::vector<std::vector<Rank>>& rings, int ranks_per_node, int trees);

  Rank ranks() const { return ranks_; }
  int channels() const { return channels_; }
  const TreeSeat& at(Rank rank, int channel, int tree) const {
    return seats_[index(rank, channel, tree)];
  }

 private:
  std::size_t index(Rank rank, int channel, int tree) const {
    return (static_cast<std::size_t>(channel) * static_cast<std::size_t>(trees_) +
            static_cast<std::size_t>(tree)) *
               static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(rank);
  }
  void seat_channel(int channel, const std::vector<std::vector<Rank>>& chains);

  Rank ranks_;
  int channels_;
  int trees_;
  std::vector<TreeSeat> seats_;
};

}  // namespace gradhaul
