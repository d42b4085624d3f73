#pragma once

// Ring all-gather, the second half of the ring all-reduce (core/ring_schedule.h): part r of rank
// r's input becomes part r of every rank's output. Each rank sends (N-1)/N of the message to its
// successor, in N - 1 steps (Chan et al., "Collective communication: theory, practice, and
// experience", Concurrency and Computation 19, 2007).
//
// One lane of N steps of the slices of a part; step s of the rank at position p concerns the part
// of the rank at position p - s:
//   0            copy the rank's own part to the output and send it
//   1 … N-2      receive, copy to the output, send on
//   N-1          receive, copy to the output
// Input and output are as large as the whole message; of the input only part r is looked at. In
// place works.

#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class RingAllGatherSchedule final : public Schedule {
 public:
  // `part` says how one rank's part is cut: in channels, each of one chunk.
  RingAllGatherSchedule(const MessagePlan& part, const std::vector<std::vector<Rank>>& rings);

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
