#pragma once

// All-to-all in two levels: within each node ranks hand each other what is meant for their local
// number on any node; then each rank exchanges with those of the same local number on other nodes,
// a whole node's parts at once (as the two-dimensional hierarchical all-to-all of Tutel: Hwang et
// al., "Tutel: adaptive mixture-of-experts at scale", MLSys 2023). With n nodes of g ranks, a rank
// sends (g-1)/g of its message within the node and (n-1)/n of it to n - 1 other ranks: as many
// bytes between nodes as pairwise exchange, in g times fewer and larger messages, which stay on a
// rail.
//
// Step d = 1 … n-1 is about the node d further on and the one d further back, step 0, the last,
// about the own. A block is what one rank gets from all ranks of a node: g parts, of which each
// channel takes a contiguous share. Lanes:
//   0  send one's share of the blocks for the far rank of each other local number
//   1  receive those for the far rank of one's own, and copy one's own; the block for d nodes
//   further
//      on is gathered in the output where that from d nodes further back will be
//   2  send the block
//   3  receive the other, when the one that was there is written out
// Not for use in place.

#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class HierarchicalAllToAllSchedule final : public Schedule {
 public:
  // `part`: elements that one rank sends to one other. `block` says how ranks_per_node parts are
  // cut: in channels, each of one chunk. At least two nodes, of at least two ranks.
  HierarchicalAllToAllSchedule(std::int64_t part, const MessagePlan& block, Rank ranks,
                               int ranks_per_node);

  Rank ranks() const override { return ranks_; }
  int channels() const override { return block_.channels(); }
  int lanes() const override { return 4; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;

 private:
  int nodes() const { return ranks_ / per_node_; }
  std::int64_t items_per_slice_of(int lane) const;
  // Of a slice of a block, what comes from a local number: elements of the block.
  Span share(Span slice, int local) const;
  Item hand_out(Rank rank, std::int64_t step, Span slice, int batch) const;
  Item take_in(Rank rank, std::int64_t step, Span slice, int distance) const;

  std::int64_t part_;
  MessagePlan block_;
  Rank ranks_;
  int per_node_;
};

}  // namespace gradhaul
