#pragma once

// All-reduce over two complementary binary trees (Sanders, Speck, Träff, "Two-tree algorithms for
// full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL since 2.4): each
// channel's data is halved over two trees, and a node that is inner in one is a leaf in the other,
// so that no node sends more than twice the message to other nodes. Inside a node the ranks are a
// chain, whose head takes part in the trees over nodes.
//
// The first tree has its leaves at odd places: place r with lowest set bit b hangs below
// (r ^ b) | 2b, or r ^ b where that is out of bounds; place 0 is the root and has one child. The
// second is its mirror for an even number of nodes, and for an odd one it is shifted by one place.
//
// Lane 2t carries tree t up: receive from the children, reduce into the output, send to the parent;
// the sum is complete at the root. Lane 2t + 1 carries it down: receive from the parent, copy to
// the output, send to the children; slice by slice, and not before the same slice has left upwards,
// the root's being its sum. Hence in place works.

#include <array>
#include <vector>

#include "core/schedule.h"

namespace gradhaul {

// Place of a node in a tree over `nodes` nodes; -1: none.
struct BinaryTreePlace {
  int parent = -1;
  std::array<int, 2> children{-1, -1};
};
// `tree` is 0 or 1; see above.
BinaryTreePlace binary_tree_place(int node, int nodes, int tree);

class DoubleBinaryTreeSchedule final : public Schedule {
 public:
  // The plan's parts are the trees: 2, or 1 for the first tree alone. Rank r is on node
  // r / ranks_per_node. Nodes, and ranks in a node's chain, follow each other as in the ring of the
  // channel; a chain is turned round where its other end has the same index within the node as the
  // head of the first node's, so that hops between nodes stay on a rail.
  DoubleBinaryTreeSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings,
                           int ranks_per_node);

  Rank ranks() const override { return ranks_; }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 2 * plan_.parts(); }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return slices_[static_cast<std::size_t>(channel)];
  }

 private:
  static constexpr int kMaxChildren = 3;  // two nodes and the next of the chain
  struct Seat {
    Rank parent = -1;
    int child_count = 0;
    std::array<Rank, kMaxChildren> children{};
  };
  std::size_t seat_index(Rank rank, int channel, int tree) const {
    return (static_cast<std::size_t>(channel) * static_cast<std::size_t>(plan_.parts()) +
            static_cast<std::size_t>(tree)) *
               static_cast<std::size_t>(ranks_) +
           static_cast<std::size_t>(rank);
  }
  void seat_channel(int channel, const std::vector<std::vector<Rank>>& chains);
  Item up(const Seat& seat, int lane, Span span) const;
  Item down(const Seat& seat, int lane, Span span) const;

  MessagePlan plan_;
  Rank ranks_;
  std::vector<Seat> seats_;
  std::vector<std::int64_t> slices_;
};

}  // namespace gradhaul
