#pragma once

// Which slice of the schedule an item is. The chunks of a channel are numbered in the order of
// their elements: one begins where some step of the schedule begins. In a ring's channel these are
// as many as ranks.

#include <cstdint>
#include <vector>

#include "core/engine_observer.h"
#include "core/run_observer.h"

namespace gradhaul {

class Schedule;

class SlicePlaces {
 public:
  // The schedule outlives it.
  explicit SlicePlaces(const Schedule& schedule);

  SlicePlace place_of(Rank rank, const ObservedItem& item);

 private:
  std::int64_t chunk_of(int channel, const Span& span);
  const std::vector<std::int64_t>& beginnings(int channel);

  const Schedule& schedule_;
  std::vector<std::vector<std::int64_t>> beginnings_;  // by channel; ascending; found when asked
};

}  // namespace gradhaul
