#include "core/send_recv_schedule.h"

#include "core/assert.h"

namespace gradhaul {

SendRecvSchedule::SendRecvSchedule(const MessagePlan& plan, Rank ranks)
    : plan_(plan), ranks_(ranks) {
  GRADHAUL_ASSERT(plan.parts() == 1, "the message is one chunk of each channel");
  GRADHAUL_ASSERT(ranks >= 2, "sending takes at least two ranks");
  for (int channel = 0; channel < plan.channels(); ++channel) {
    slices_.push_back(plan.slices_per_chunk(channel));
  }
}

std::int64_t SendRecvSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return slices_per_step(channel);
}

Item SendRecvSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const Span slice = plan_.slice(channel, 0, index);
  Item item;
  if (lane == 0) {
    item.send_count = 1;
    item.sends[0] = {(rank + 1) % ranks_, 0, Region::kInput, slice};
  } else {
    item.span = slice;
    item.operation = Operation::kCopy;
    item.receive_count = 1;
    item.receives[0] = {(rank + ranks_ - 1) % ranks_, 0};
  }
  return item;
}

}  // namespace gradhaul
