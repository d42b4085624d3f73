#include "core/message_plan.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

Span part_of(Span whole, std::int64_t index, std::int64_t parts) {
  const std::int64_t share = whole.count / parts;
  const std::int64_t larger_parts = whole.count % parts;
  return {whole.first + index * share + std::min(index, larger_parts),
          share + (index < larger_parts ? 1 : 0)};
}

MessagePlan::MessagePlan(std::int64_t count, DataType datatype, int channels, int parts, Bytes slot)
    : count_(count),
      datatype_(datatype),
      channels_(channels),
      parts_(parts),
      slot_elements_(slot.count / size_of(datatype).count) {
  GRADHAUL_ASSERT(count >= 0, "a message has no negative size");
  GRADHAUL_ASSERT(channels >= 1 && parts >= 1, "a message is cut into at least one piece");
  GRADHAUL_ASSERT(slot_elements_ >= 1, "a slot holds at least one element");
}

Span MessagePlan::channel(int channel) const {
  GRADHAUL_ASSERT(channel >= 0 && channel < channels_, "no such channel");
  return part_of({0, count_}, channel, channels_);
}

Span MessagePlan::chunk(int channel, int chunk) const {
  GRADHAUL_ASSERT(chunk >= 0 && chunk < parts_, "no such chunk");
  return part_of(this->channel(channel), chunk, parts_);
}

// The first chunk is the largest. At least one element even where it has none, so that every
// channel has slices to count, empty ones.
std::int64_t MessagePlan::slice_elements(int channel) const {
  return std::max<std::int64_t>(1, std::min(slot_elements_, chunk(channel, 0).count));
}

std::int64_t MessagePlan::slices_per_chunk(int channel) const {
  const std::int64_t largest = chunk(channel, 0).count;
  const std::int64_t slice = slice_elements(channel);
  return std::max<std::int64_t>(1, (largest + slice - 1) / slice);
}

Span MessagePlan::slice(int channel, int chunk, std::int64_t slice) const {
  const Span whole = this->chunk(channel, chunk);
  const std::int64_t length = slice_elements(channel);
  const std::int64_t begin = std::min(whole.count, slice * length);
  return {whole.first + begin, std::min(length, whole.count - begin)};
}

}  // namespace gradhaul
