#include "core/ring_all_gather_schedule.h"

#include "core/assert.h"

namespace gradhaul {

RingAllGatherSchedule::RingAllGatherSchedule(const MessagePlan& part,
                                             const std::vector<std::vector<Rank>>& rings)
    : part_(part), rings_(rings) {
  GRADHAUL_ASSERT(part.parts() == 1, "a rank's part is one chunk of each channel");
  GRADHAUL_ASSERT(rings_.channels() == part.channels(), "each channel has its ring");
}

std::int64_t RingAllGatherSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return ranks() * slices_per_step(channel);
}

Item RingAllGatherSchedule::item(Rank rank, int channel, int /*lane*/, std::int64_t index) const {
  const std::int64_t slices = slices_per_step(channel);
  const auto step = static_cast<int>(index / slices);
  const int n = ranks();
  const int position = rings_.position(channel, rank);
  const auto at = [&](int place) { return rings_.at(channel, (place + n) % n); };

  Item item;
  item.span = part_.slice(channel, 0, index % slices);
  item.span.first += at(position - step) * part_.count();
  item.operation = Operation::kCopy;
  if (step > 0) {
    item.receive_count = 1;
    item.receives[0] = {at(position - 1), 0};
  }
  if (step < n - 1) {
    item.send_count = 1;
    item.sends[0] = {at(position + 1), 0, Region::kOutput, item.span};
  }
  return item;
}

}  // namespace gradhaul
