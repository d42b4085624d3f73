#include "core/chain_broadcast_schedule.h"

#include "core/assert.h"

namespace gradhaul {

ChainBroadcastSchedule::ChainBroadcastSchedule(const MessagePlan& plan,
                                               const std::vector<std::vector<Rank>>& rings)
    : plan_(plan), rings_(rings) {
  GRADHAUL_ASSERT(plan.parts() == 1, "the message is one chunk of each channel");
  GRADHAUL_ASSERT(rings_.channels() == plan.channels(), "each channel has its ring");
}

std::int64_t ChainBroadcastSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return slices_per_step(channel);
}

Item ChainBroadcastSchedule::item(Rank rank, int channel, int /*lane*/, std::int64_t index) const {
  const int n = ranks();
  const int position = rings_.position(channel, rank);
  const int hops = (position - rings_.position(channel, 0) + n) % n;  // from rank 0

  Item item;
  item.span = plan_.slice(channel, 0, index);
  item.operation = Operation::kCopy;
  if (hops > 0) {
    item.receive_count = 1;
    item.receives[0] = {rings_.at(channel, (position - 1 + n) % n), 0};
  }
  if (hops < n - 1) {
    item.send_count = 1;
    item.sends[0] = {rings_.at(channel, (position + 1) % n), 0, Region::kOutput, item.span};
  }
  return item;
}

}  // namespace gradhaul
