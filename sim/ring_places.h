#pragma once

// Where ranks stand in the rings of channels, within their nodes: what settles ties alike in parts
// of a cluster that are alike.

#include <cstdint>
#include <vector>

#include "core/placement.h"

namespace gradhaul {

// By channel and rank, the place that the rank has in its node's part of the channel's ring.
using RingPlaces = std::vector<std::vector<std::int32_t>>;
RingPlaces ring_places(const Placement& placement);

// In a rank, channels by the places that it has in their rings: in this order they take turns where
// they ask for something at the same instant.
std::vector<int> channel_turns(const RingPlaces& places, Rank rank);

}  // namespace gradhaul
