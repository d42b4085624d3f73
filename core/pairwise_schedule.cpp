#include "core/pairwise_schedule.h"

#include "core/assert.h"

namespace gradhaul {
namespace {

enum Lane : int { kSending = 0, kReceiving = 1, kOwnPart = 2 };

}  // namespace

PairwiseSchedule::PairwiseSchedule(const MessagePlan& part, Rank ranks)
    : part_(part), ranks_(ranks) {
  GRADHAUL_ASSERT(part.parts() == 1, "the part for a destination is one chunk of each channel");
  GRADHAUL_ASSERT(ranks >= 2, "an exchange needs at least two ranks");
  for (int channel = 0; channel < part.channels(); ++channel) {
    slices_.push_back(part.slices_per_chunk(channel));
  }
}

std::int64_t PairwiseSchedule::items(Rank /*rank*/, int channel, int lane) const {
  return slices_per_step(channel) * (lane == kOwnPart ? 1 : ranks_ - 1);
}

Item PairwiseSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const std::int64_t slices = slices_per_step(channel);
  const Span slice = part_.slice(channel, 0, index % slices);
  const auto within = [&](Rank part) {
    return Span{slice.first + part * part_.count(), slice.count};
  };
  const auto step = static_cast<Rank>(index / slices) + 1;

  Item item;
  if (lane == kSending) {
    const Rank peer = (rank + step) % ranks_;
    item.send_count = 1;
    item.sends[0] = {peer, 0, Region::kInput, within(peer)};
  } else {
    const Rank source = lane == kOwnPart ? rank : (rank - step + ranks_) % ranks_;
    item.span = within(source);
    item.operation = Operation::kCopy;
    item.receive_count = lane == kOwnPart ? 0 : 1;
    item.receives[0] = {source, 0};
  }
  return item;
}

}  // namespace gradhaul
