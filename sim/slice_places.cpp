#include "sim/slice_places.h"

#include <algorithm>

#include "core/schedule.h"

namespace gradhaul {
namespace {

// Ranks are looked at until so many items have been: of most schedules one rank has all chunks.
constexpr std::int64_t kEnoughItems = 20'000;

void add_beginnings(const Item& item, std::vector<std::int64_t>& beginnings) {
  if (item.operation != Operation::kNone && item.span.count > 0) {
    beginnings.push_back(item.span.first);
  }
  for (int i = 0; i < item.send_count; ++i) {
    const Span& sent = item.sends[static_cast<std::size_t>(i)].span;
    if (sent.count > 0) beginnings.push_back(sent.first);
  }
}

}  // namespace

SlicePlaces::SlicePlaces(const Schedule& schedule)
    : schedule_(schedule), beginnings_(static_cast<std::size_t>(schedule.channels())) {}

const std::vector<std::int64_t>& SlicePlaces::beginnings(int channel) {
  std::vector<std::int64_t>& found = beginnings_[static_cast<std::size_t>(channel)];
  if (!found.empty()) return found;
  const std::int64_t step = schedule_.slices_per_step(channel);
  std::int64_t looked_at = 0;
  for (Rank rank = 0; rank < schedule_.ranks() && looked_at < kEnoughItems; ++rank) {
    for (int lane = 0; lane < schedule_.lanes(); ++lane) {
      // All items of the first slice of each step: they may differ in where they begin.
      const std::int64_t slice = schedule_.items_per_slice(rank, channel, lane);
      const std::int64_t items = schedule_.items(rank, channel, lane);
      for (std::int64_t first = 0; first < items; first += step * slice, looked_at += slice) {
        for (std::int64_t i = first; i < first + slice; ++i) {
          add_beginnings(schedule_.item(rank, channel, lane, i), found);
        }
      }
    }
  }
  if (found.empty()) found.push_back(0);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::int64_t SlicePlaces::chunk_of(int channel, const Span& span) {
  const std::vector<std::int64_t>& begin = beginnings(channel);
  const auto after = std::upper_bound(begin.begin(), begin.end(), span.first);
  return std::max<std::int64_t>(0, (after - begin.begin()) - 1);
}

SlicePlace SlicePlaces::place_of(Rank rank, const ObservedItem& item) {
  const std::int64_t slices = schedule_.slices_per_step(item.channel);
  const std::int64_t slice = item.index / schedule_.items_per_slice(rank, item.channel, item.lane);
  return {item.channel, item.lane, slice / slices, chunk_of(item.channel, item.span),
          slice % slices};
}

}  // namespace gradhaul
