#include "core/tree_broadcast_schedule.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

std::vector<std::vector<Rank>> from_rank_0(std::vector<std::vector<Rank>> rings) {
  for (std::vector<Rank>& ring : rings) {
    std::rotate(ring.begin(), std::find(ring.begin(), ring.end(), 0), ring.end());
  }
  return rings;
}

}  // namespace

TreeBroadcastSchedule::TreeBroadcastSchedule(const MessagePlan& plan,
                                             const std::vector<std::vector<Rank>>& rings,
                                             int ranks_per_node)
    : plan_(plan), seats_(from_rank_0(rings), ranks_per_node, 1) {
  GRADHAUL_ASSERT(plan.parts() == 1, "the message is one chunk of each channel");
  GRADHAUL_ASSERT(seats_.channels() == plan.channels(), "each channel has its order of ranks");
}

std::int64_t TreeBroadcastSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return slices_per_step(channel);
}

Item TreeBroadcastSchedule::item(Rank rank, int channel, int /*lane*/, std::int64_t index) const {
  const TreeSeat& seat = seats_.at(rank, channel, 0);
  Item item;
  item.span = plan_.slice(channel, 0, index);
  item.operation = Operation::kCopy;
  if (seat.parent >= 0) {
    item.receive_count = 1;
    item.receives[0] = {seat.parent, 0};
  }
  item.send_count = seat.child_count;
  for (std::size_t i = 0; i < static_cast<std::size_t>(seat.child_count); ++i) {
    item.sends[i] = {seat.children[i], 0, Region::kOutput, item.span};
  }
  return item;
}

}  // namespace gradhaul
