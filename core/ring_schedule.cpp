#include "core/ring_schedule.h"

#include "core/assert.h"

namespace gradhaul {

RingSchedule::RingSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings)
    : plan_(plan) {
  const auto ranks = static_cast<std::size_t>(plan.parts());
  GRADHAUL_ASSERT(ranks >= 2, "a ring joins at least two ranks");
  GRADHAUL_ASSERT(rings.size() == static_cast<std::size_t>(plan.channels()),
                  "each channel has its ring");
  seats_.resize(rings.size() * ranks);
  for (std::size_t channel = 0; channel < rings.size(); ++channel) {
    const std::vector<Rank>& ring = rings[channel];
    GRADHAUL_ASSERT(ring.size() == ranks, "a ring holds every rank");
    for (std::size_t p = 0; p < ranks; ++p) {
      GRADHAUL_ASSERT(ring[p] >= 0 && ring[p] < plan.parts(), "a ring holds ranks only");
      Seat& seat = seats_[channel * ranks + static_cast<std::size_t>(ring[p])];
      GRADHAUL_ASSERT(seat.position < 0, "a ring holds each rank once");
      seat = {static_cast<int>(p), ring[(p + ranks - 1) % ranks], ring[(p + 1) % ranks]};
    }
    slices_.push_back(plan.slices_per_chunk(static_cast<int>(channel)));
  }
}

std::int64_t RingSchedule::items(Rank /*rank*/, int channel, int /*lane*/) const {
  return (2 * std::int64_t{ranks()} - 1) * slices_per_step(channel);
}

Item RingSchedule::item(Rank rank, int channel, int /*lane*/, std::int64_t index) const {
  const std::int64_t slices = slices_per_step(channel);
  const auto step = static_cast<int>(index / slices);
  const std::int64_t slice = index % slices;
  const int n = ranks();
  const Seat& seat = this->seat(rank, channel);

  int chunk = seat.position - step;
  while (chunk < 0) chunk += n;

  const Span span = plan_.slice(channel, chunk, slice);
  Item item;
  item.span = span;
  if (step > 0) {
    item.operation = step < n ? Operation::kReduce : Operation::kCopy;
    item.last_reduction = step == n - 1;
    item.receive_count = 1;
    item.receives[0] = {seat.previous, 0};
  }
  if (step < 2 * n - 2) {
    item.send_count = 1;
    item.sends[0] = {seat.next, 0, step == 0 ? Region::kInput : Region::kOutput, span};
  }
  if (step >= n) item.after = Dependency{0, index - n * slices};
  return item;
}

}  // namespace gradhaul
