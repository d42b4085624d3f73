#pragma once

// The first step of a ring all-reduce (core/ring_schedule.h) by itself: each rank sends its own
// chunk to its successor, all at once, and reduces what comes from its predecessor into the output.
// What a ladder has between a pair of ranks and the whole collective (core/ladder.h); no collective
// by itself, since its sums are of two ranks.
//
// Lane 0 sends, lane 1 receives and reduces, so that nobody waits for what it has to send.

#include <cstdint>
#include <vector>

#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class RingStepSchedule final : public Schedule {
 public:
  // One ring of all ranks per channel of the plan; the plan's parts are the ranks, at least 2.
  RingStepSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings);

  Rank ranks() const override { return plan_.parts(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 2; }
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
