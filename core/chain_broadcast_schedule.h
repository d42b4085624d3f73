#pragma once

// Broadcast of rank 0's input along a chain, slice by slice: the ring of the channel, from rank 0
// on, without its last hop. Every rank but the last sends the message once; a slice takes N - 1
// hops, and the next follows at the pace of the slowest (the pipeline of Johnsson & Ho, "Optimum
// broadcasting and personalized communication in hypercubes", IEEE Trans. Computers 38, 1989; NCCL
// broadcasts like this).
//
// One lane of the channel's slices: rank 0 copies from its input and sends, the others receive,
// copy to the output and send on. In place works.

#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class ChainBroadcastSchedule final : public Schedule {
 public:
  // The message is one chunk of each channel.
  ChainBroadcastSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings);

  Rank ranks() const override { return rings_.ranks(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 1; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return plan_.slices_per_chunk(channel);
  }

 private:
  MessagePlan plan_;
  RankOrders rings_;
};

}  // namespace gradhaul
