#include "core/double_binary_tree_schedule.h"

#include "core/assert.h"

namespace gradhaul {
DoubleBinaryTreeSchedule::DoubleBinaryTreeSchedule(const MessagePlan& plan,
                                                   const std::vector<std::vector<Rank>>& rings,
                                                   int ranks_per_node)
    : plan_(plan), seats_(rings, ranks_per_node, plan.parts()) {
  GRADHAUL_ASSERT(rings.size() == static_cast<std::size_t>(plan.channels()),
                  "each channel has its order of ranks");
  for (int channel = 0; channel < plan.channels(); ++channel) {
    slices_.push_back(plan.slices_per_chunk(channel));
  }
}

std::int64_t DoubleBinaryTreeSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return slices_per_step(channel);
}

Item DoubleBinaryTreeSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const int tree = lane / 2;
  const TreeSeat& seat = seats_.at(rank, channel, tree);
  const Span span = plan_.slice(channel, tree, index);
  if (lane % 2 == 0) return up(seat, lane, span);
  Item item = down(seat, lane, span);
  item.after = Dependency{lane - 1, index};
  return item;
}

Item DoubleBinaryTreeSchedule::up(const TreeSeat& seat, int lane, Span span) const {
  Item item;
  item.span = span;
  item.operation = seat.child_count > 0 ? Operation::kReduce : Operation::kNone;
  item.last_reduction = seat.parent < 0;
  for (int i = 0; i < seat.child_count; ++i) {
    item.receives[static_cast<std::size_t>(i)] = {seat.children[static_cast<std::size_t>(i)], lane};
  }
  item.receive_count = seat.child_count;
  if (seat.parent >= 0) {
    const Region source = seat.child_count > 0 ? Region::kOutput : Region::kInput;
    item.sends[0] = {seat.parent, lane, source, span};
    item.send_count = 1;
  }
  return item;
}

Item DoubleBinaryTreeSchedule::down(const TreeSeat& seat, int lane, Span span) const {
  Item item;
  item.span = span;
  if (seat.parent >= 0) {
    item.operation = Operation::kCopy;
    item.receives[0] = {seat.parent, lane};
    item.receive_count = 1;
  }
  for (int i = 0; i < seat.child_count; ++i) {
    item.sends[static_cast<std::size_t>(i)] = {seat.children[static_cast<std::size_t>(i)], lane,
                                               Region::kOutput, span};
  }
  item.send_count = seat.child_count;
  return item;
}

}  // namespace gradhaul
