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
  for (int channel = 0; channel < channels; ++channel) {
    const Span whole = part_of({0, count}, channel, channels);
    const std::int64_t share = whole.count / parts;
    const std::int64_t larger = whole.count % parts;
    const std::int64_t largest = share + (larger > 0 ? 1 : 0);
    // At least one element even where the largest has none, so that every channel has slices to
    // count, empty ones.
    const std::int64_t slice = std::max<std::int64_t>(1, std::min(slot_elements_, largest));
    cuts_.push_back(
        {whole, share, larger, slice, std::max<std::int64_t>(1, (largest + slice - 1) / slice)});
  }
}

}  // namespace gradhaul
