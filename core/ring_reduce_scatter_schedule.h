#pragma once

// Ring reduce-scatter, the first half of the ring all-reduce (core/ring_schedule.h): part r of all
// ranks' inputs, reduced, ends at rank r. Each rank sends (N-1)/N of the message to its successor,
// in N - 1 steps (Chan et al., "Collective communication: theory, practice, and experience",
// Concurrency and Computation 19, 2007).
//
// One lane of N steps of the slices of a part; step s of the rank at position p concerns the part
// of the rank at position p - 1 - s:
//   0            send it from the input
//   1 … N-2      receive, reduce into the output, send on
//   N-1          receive, reduce into the output: the rank's own part, complete
// Input and output are as large as the whole message. Part r of the output is the result; the other
// parts hold partial sums that have been sent. In place works: nothing is read after it is written.

#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class RingReduceScatterSchedule final : public Schedule {
 public:
  // `part` says how one rank's part is cut: in channels, each of one chunk.
  RingReduceScatterSchedule(const MessagePlan& part, const std::vector<std::vector<Rank>>& rings);

  Rank ranks() const override { return rings_.ranks(); }
  int channels() const override { return part_.channels(); }
  int lanes() const override { return 1; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  bool steps_are_even() const override { return true; }
  std::int64_t slices_per_step(int channel) const override {
    return part_.slices_per_chunk(channel);
  }

 private:
  MessagePlan part_;
  RankOrders rings_;
};

}  // namespace gradhaul
