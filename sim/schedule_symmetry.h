#pragma once

// Whether ranks' schedules ask for the same.

#include <vector>

#include "core/schedule.h"

namespace gradhaul {

// Of every rank and channel in each lane: whether the rank and channel that these are taken to do
// the same, item by item, with peers that are taken to each other, in the same sizes and
// dependencies. Which elements they are does not count.
bool asks_for_the_same(const Schedule& schedule, const std::vector<Rank>& rank_images,
                       const std::vector<int>& channel_images);

}  // namespace gradhaul
