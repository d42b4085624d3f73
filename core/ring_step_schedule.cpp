#include "core/ring_step_schedule.h"

#include "core/assert.h"

namespace gradhaul {

RingStepSchedule::RingStepSchedule(const MessagePlan& plan,
                                   const std::vector<std::vector<Rank>>& rings)
    : plan_(plan), rings_(rings) {
  GRADHAUL_ASSERT(plan.parts() == rings_.ranks(), "the plan's parts are the ranks");
  GRADHAUL_ASSERT(plan.channels() == rings_.channels(), "each channel has its ring");
}

std::int64_t RingStepSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return slices_per_step(channel);
}

Item RingStepSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const int n = ranks();
  const int position = rings_.position(channel, rank);
  const int before = (position + n - 1) % n;
  Item item;
  if (lane == 0) {
    item.send_count = 1;
    item.sends[0] = {rings_.at(channel, (position + 1) % n), 0, Region::kInput,
                     plan_.slice(channel, position, index)};
  } else {
    item.span = plan_.slice(channel, before, index);
    item.operation = Operation::kReduce;
    item.receive_count = 1;
    item.receives[0] = {rings_.at(channel, before), 0};
  }
  return item;
}

}  // namespace gradhaul
