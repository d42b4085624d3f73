#include "core/listed_schedule.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace gradhaul {
ListedSchedule::ListedSchedule(std::shared_ptr<const ListedProgram> program, std::int64_t count,
                               std::int64_t slot_elements)
    : program_(std::move(program)),
      chunk_elements_(count / program_->chunks),
      slot_elements_(slot_elements),
      slices_(std::max<std::int64_t>(1, (chunk_elements_ + slot_elements - 1) / slot_elements)) {
  GRADHAUL_ASSERT(count % program_->chunks == 0, "a message is a whole number of chunks");
  GRADHAUL_ASSERT(slot_elements >= 1, "a slot holds at least one element");
}

const ListedLane& ListedSchedule::lane(Rank rank, int channel, int lane) const {
  return program_->ranks[static_cast<std::size_t>(rank)]
      .lanes[static_cast<std::size_t>(channel * program_->lanes + lane)];
}

std::int64_t ListedSchedule::items_per_slice(Rank rank, int channel, int lane) const {
  const auto items = static_cast<std::int64_t>(this->lane(rank, channel, lane).items.size());
  return std::max<std::int64_t>(1, items);
}

std::int64_t ListedSchedule::items(Rank rank, int channel, int lane) const {
  return static_cast<std::int64_t>(this->lane(rank, channel, lane).items.size()) * slices_;
}

std::int64_t ListedSchedule::scratch(Rank rank) const {
  return program_->ranks[static_cast<std::size_t>(rank)].scratch_chunks * chunk_elements_;
}

Span ListedSchedule::span(int chunk, std::int64_t slice) const {
  const std::int64_t begin = slice * slot_elements_;
  return {chunk * chunk_elements_ + begin, std::min(slot_elements_, chunk_elements_ - begin)};
}

Item ListedSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const ListedLane& listed = this->lane(rank, channel, lane);
  const auto items = static_cast<std::int64_t>(listed.items.size());
  const std::int64_t slice = index / items;
  const ListedItem& from = listed.items[static_cast<std::size_t>(index % items)];
  const auto shift = [&](int chunk) { return (chunk - from.target) * chunk_elements_; };

  Item item;
  item.operation = from.operation;
  item.span = span(from.target, slice);
  item.last_reduction = from.last_reduction;
  if (from.left) {
    item.left = from.left->region;
    item.left_shift = shift(from.left->chunk);
  }
  if (from.right) item.right = LocalOperand{from.right->region, shift(from.right->chunk)};
  if (from.receives) {
    item.receive_count = 1;
    item.receives[0] = {listed.receives_from, 0};
  }
  if (from.sends) {
    item.send_count = 1;
    item.sends[0] = {listed.sends_to, 0, from.sends->region, span(from.sends->chunk, slice)};
  }
  if (from.after_item >= 0) {
    const ListedLane& before = this->lane(rank, from.after_channel, from.after_lane);
    const std::int64_t then = slice * static_cast<std::int64_t>(before.items.size());
    const int other = from.after_channel == channel ? -1 : from.after_channel;
    item.after = Dependency{from.after_lane, then + from.after_item, other};
  }
  return item;
}

}  // namespace gradhaul
