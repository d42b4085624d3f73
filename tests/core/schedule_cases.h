#pragma once

// Schedules of small cases, as tests of schedules and engine need them.

#include <functional>
#include <utility>
#include <vector>

#include "core/communication.h"
#include "core/schedule.h"

namespace gradhaul {

// Rings 0, 1, 2, …, each channel's turned by as many places as its number.
inline std::vector<std::vector<Rank>> turned_rings(int channels, Rank ranks) {
  std::vector<std::vector<Rank>> rings;
  for (int channel = 0; channel < channels; ++channel) {
    std::vector<Rank>& ring = rings.emplace_back();
    for (Rank p = 0; p < ranks; ++p) ring.push_back((p + channel) % ranks);
  }
  return rings;
}

// Where an item stands in its schedule.
struct ItemPlace {
  Rank rank = 0;
  int channel = 0;
  int lane = 0;
  std::int64_t index = 0;
};

// A schedule with some items changed: what a checker must catch, and what an engine must stand.
class AlteredSchedule final : public Schedule {
 public:
  using Alteration = std::function<void(const ItemPlace&, Item&)>;
  // The original outlives it.
  AlteredSchedule(const Schedule& original, Alteration alteration)
      : original_(original), alteration_(std::move(alteration)) {}

  Rank ranks() const override { return original_.ranks(); }
  int channels() const override { return original_.channels(); }
  int lanes() const override { return original_.lanes(); }
  std::int64_t items(Rank rank, int channel, int lane) const override {
    return original_.items(rank, channel, lane);
  }
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override {
    Item item = original_.item(rank, channel, lane, index);
    alteration_({rank, channel, lane, index}, item);
    return item;
  }

 private:
  const Schedule& original_;
  Alteration alteration_;
};

}  // namespace gradhaul
