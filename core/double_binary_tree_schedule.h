#pragma once

// All-reduce over two complementary binary trees (Sanders, Speck, Träff, "Two-tree algorithms for
// full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL since 2.4): each
// channel's data is halved over two trees, and a node that is inner in one is a leaf in the other,
// so that no node sends more than twice the message to other nodes. Inside a node the ranks are a
// chain, whose head takes part in the trees over nodes.
// (core/tree_seats.h). With one tree alone, `tree`, a node with a parent and two children sends and
// receives three times the message, and T >= 3 S / B; with two 2 S / B.
//
// Lane 2t carries tree t up: receive from the children, reduce into the output, send to the parent;
// the sum is complete at the root. Lane 2t + 1 carries it down: receive from the parent, copy to
// the output, send to the children; slice by slice, and not before the same slice has left upwards,
// the root's being its sum. Hence in place works.

#include <vector>

#include "core/schedule.h"
#include "core/tree_seats.h"

namespace gradhaul {

class DoubleBinaryTreeSchedule final : public Schedule {
 public:
  // The plan's parts are the trees: 2, or 1 for the first tree alone. `rings` and `ranks_per_node`
  // as TreeSeats has them.
  DoubleBinaryTreeSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings,
                           int ranks_per_node);

  Rank ranks() const override { return seats_.ranks(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 2 * plan_.parts(); }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return slices_[static_cast<std::size_t>(channel)];
  }

 private:
  Item up(const TreeSeat& seat, int lane, Span span) const;
  Item down(const TreeSeat& seat, int lane, Span span) const;

  MessagePlan plan_;
  TreeSeats seats_;
  std::vector<std::int64_t> slices_;
};

}  // namespace gradhaul
