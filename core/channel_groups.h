#pragma once

// Channels whose data takes the same ways: same ring, and between any two ranks the same NICs and
// relay. What holds for flows of one of them holds for the others.

#include <cstdint>
#include <vector>

#include "core/placement.h"

namespace gradhaul {

// Each group ascending, in the order of their first channels.
std::vector<std::vector<int>> channel_groups(const Placement& placement, const Cluster& cluster);

// How many flows the fluid model makes of it: from how many ranks to how many others data goes,
// each stream of the schedule and each group by itself, or in schedules of steps each step.
std::int64_t grouped_connections(std::size_t groups, Rank ranks, Collective collective,
                                 Algorithm algorithm, int ranks_per_node = 1);

// The fluid model keeps some 30 KB for each.
inline constexpr std::int64_t kMostGroupedConnections = 100'000;

}  // namespace gradhaul
