#pragma once

// Broadcast of rank 0's input down a binary tree over nodes, with a chain inside each
// (core/tree_seats.h), slice by slice: a slice takes about log2 of the nodes hops. A node with two
// children sends the message twice to other nodes: T >= 2 S / B, where a chain takes S / B and one
// latency for every rank.
//
// One lane of the channel's slices: rank 0 copies from its input and sends, the others receive,
// copy to the output and send on. In place works.

#include <vector>

#include "core/message_plan.h"
#include "core/schedule.h"
#include "core/tree_seats.h"

namespace gradhaul {

class TreeBroadcastSchedule final : public Schedule {
 public:
  // The message is one chunk of each channel. `rings` and `ranks_per_node` as TreeSeats has them,
  // the rings turned so that rank 0 is the first.
  TreeBroadcastSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings,
                        int ranks_per_node);

  Rank ranks() const override { return seats_.ranks(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 1; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return plan_.slices_per_chunk(channel);
  }

 private:
  MessagePlan plan_;
  TreeSeats seats_;
};

}  // namespace gradhaul
