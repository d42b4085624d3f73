#include "core/hierarchical_all_to_all_schedule.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

enum Lane : int { kHandOut = 0, kTakeIn = 1, kSendAcross = 2, kReceiveAcross = 3 };

}  // namespace

HierarchicalAllToAllSchedule::HierarchicalAllToAllSchedule(std::int64_t part,
                                                           const MessagePlan& block, Rank ranks,
                                                           int ranks_per_node)
    : part_(part), block_(block), ranks_(ranks), per_node_(ranks_per_node) {
  GRADHAUL_ASSERT(per_node_ >= 2 && ranks >= 2 * per_node_ && ranks % per_node_ == 0,
                  "two levels have several nodes, and several ranks in each");
  GRADHAUL_ASSERT(block.parts() == 1 && block.count() == part * per_node_,
                  "a block is one part of each rank of a node, one chunk of each channel");
}

std::int64_t HierarchicalAllToAllSchedule::items_per_slice_of(int lane) const {
  if (lane == kHandOut) return (per_node_ - 1 + kMaxPeersOfItem - 1) / kMaxPeersOfItem;
  return lane == kTakeIn ? per_node_ : 1;
}

// Step 0 stays in the node.
std::int64_t HierarchicalAllToAllSchedule::items(Rank /*rank*/, int channel, int lane) const {
  const bool within = lane == kHandOut || lane == kTakeIn;
  return (within ? nodes() : nodes() - 1) * block_.slices_per_chunk(channel) *
         items_per_slice_of(lane);
}

Item HierarchicalAllToAllSchedule::item(Rank rank, int channel, int lane,
                                        std::int64_t index) const {
  const std::int64_t items = items_per_slice_of(lane);
  const std::int64_t slices = block_.slices_per_chunk(channel);
  const std::int64_t step = (index / items / slices + 1) % nodes();
  const std::int64_t number = index / items % slices;
  const Span slice = block_.slice(channel, 0, number);
  const auto batch = static_cast<int>(index % items);
  if (lane == kHandOut) return hand_out(rank, step, slice, batch);
  if (lane == kTakeIn) return take_in(rank, step, slice, batch);

  const std::int64_t node = rank / per_node_;
  const std::int64_t back = (node - step + nodes()) % nodes();
  const Span span{back * block_.count() + slice.first, slice.count};
  const auto far = [&](std::int64_t other) {
    return static_cast<Rank>(other * per_node_ + rank % per_node_);
  };
  Item item;
  if (lane == kSendAcross) {
    item.send_count = 1;
    item.sends[0] = {far((node + step) % nodes()), 0, Region::kOutput, span};
    item.after = Dependency{kTakeIn, (index + 1) * items_per_slice_of(kTakeIn) - 1};
  } else {
    item.span = span;
    item.operation = Operation::kCopy;
    item.receive_count = 1;
    item.receives[0] = {far(back), 0};
    item.after = Dependency{kSendAcross, index};
  }
  return item;
}

Span HierarchicalAllToAllSchedule::share(Span slice, int local) const {
  const std::int64_t begin = std::max(slice.first, local * part_);
  const std::int64_t end = std::min(slice.first + slice.count, (local + 1) * part_);
  return {begin, std::max<std::int64_t>(0, end - begin)};
}

// What is for rank q lies at q parts in the input.
Item HierarchicalAllToAllSchedule::hand_out(Rank rank, std::int64_t step, Span slice,
                                            int batch) const {
  const int local = rank % per_node_;
  const std::int64_t node = rank / per_node_;
  const Span mine = share(slice, local);
  Item item;
  const int first = 1 + batch * kMaxPeersOfItem;
  for (int distance = first; distance < std::min(per_node_, first + kMaxPeersOfItem); ++distance) {
    const int other = (local + distance) % per_node_;
    const std::int64_t far = (node + step) % nodes() * per_node_ + other;
    item.sends[static_cast<std::size_t>(item.send_count++)] = {
        rank - local + other,
        0,
        Region::kInput,
        {far * part_ + mine.first - local * part_, mine.count}};
  }
  return item;
}

// The own share comes last of a slice.
Item HierarchicalAllToAllSchedule::take_in(Rank rank, std::int64_t step, Span slice,
                                           int distance) const {
  const int local = rank % per_node_;
  const std::int64_t node = rank / per_node_;
  const int source = (local - 1 - distance + per_node_) % per_node_;
  const std::int64_t back = (node - step + nodes()) % nodes();
  Item item;
  item.span = share(slice, source);
  item.span.first += back * block_.count();
  item.operation = Operation::kCopy;
  if (source == local) {
    const std::int64_t further = (node + step) % nodes();
    item.left_shift = (further - back) * block_.count();
  } else {
    item.receive_count = 1;
    item.receives[0] = {rank - local + source, 0};
  }
  return item;
}

}  // namespace gradhaul
