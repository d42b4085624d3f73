#include "sim/ring_places.h"

#include <algorithm>
#include <utility>

namespace gradhaul {

RingPlaces ring_places(const Placement& placement) {
  RingPlaces places;
  for (const std::vector<Rank>& ring : placement.rings) {
    std::vector<std::int32_t>& of_ranks = places.emplace_back(ring.size());
    for (std::size_t i = 0; i < ring.size(); ++i) {
      of_ranks[static_cast<std::size_t>(ring[i])] =
          static_cast<std::int32_t>(i) % placement.ranks_per_node;
    }
  }
  return places;
}

std::vector<int> channel_turns(const RingPlaces& places, Rank rank) {
  std::vector<std::pair<std::int32_t, int>> turns;
  for (std::size_t channel = 0; channel < places.size(); ++channel) {
    turns.emplace_back(places[channel][static_cast<std::size_t>(rank)], static_cast<int>(channel));
  }
  std::sort(turns.begin(), turns.end());
  std::vector<int> result(turns.size());
  for (std::size_t i = 0; i < turns.size(); ++i) {
    result[static_cast<std::size_t>(turns[i].second)] = static_cast<int>(i);
  }
  return result;
}

}  // namespace gradhaul
