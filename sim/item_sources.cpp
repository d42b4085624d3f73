#include "sim/item_sources.h"

#include "core/item_cursor.h"

namespace gradhaul {
namespace {

bool overlap(const Span& a, const Span& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

}  // namespace

ItemSources::ItemSources(const Schedule& chunks, int channel, Rank rank,
                         const std::function<std::int32_t(const Item&, int)>& transfer) {
  for (int lane = 0; lane < chunks.lanes(); ++lane) {
    std::vector<Place>& places = lanes_.emplace_back();
    for (std::int64_t i = 0; i < chunks.items(rank, channel, lane); ++i) {
      Item item = chunks.item(rank, channel, lane, i);
      drop_empty_transfers(item);
      Place& place = places.emplace_back(Place{item.span, {}, item.after});
      for (int k = 0; k < item.receive_count; ++k) {
        const std::int32_t number = transfer(item, k);
        if (number >= 0) place.received.push_back(number);
      }
    }
  }
}

// Of the last item up to `from` that receives some of it, and of those right before it that receive
// the same elements.
void ItemSources::add_last(int lane, std::int64_t from, const Span& span,
                           std::vector<std::int32_t>& sources) const {
  const std::vector<Place>& places = lanes_[static_cast<std::size_t>(lane)];
  const Place* found = nullptr;
  for (std::int64_t i = from; i >= 0; --i) {
    const Place& place = places[static_cast<std::size_t>(i)];
    if (found != nullptr && place.span != found->span) return;
    if (place.received.empty() || !overlap(place.span, span)) continue;
    found = &place;
    sources.insert(sources.end(), place.received.begin(), place.received.end());
  }
}

std::vector<std::int32_t> ItemSources::of(int lane, std::int64_t index,
                                          const ItemSend& send) const {
  const Place& place = lanes_[static_cast<std::size_t>(lane)][static_cast<std::size_t>(index)];
  std::vector<std::int32_t> sources = place.received;
  if (send.source == Region::kInput) return sources;
  if (place.after && place.after->lane != lane) {
    add_last(place.after->lane, place.after->index, send.span, sources);
  }
  if (sources.empty()) add_last(lane, index, send.span, sources);
  return sources;
}

}  // namespace gradhaul
