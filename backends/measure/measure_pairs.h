#pragma once

// Writes between all pairs of nodes, in rounds in which each node is in one pair
// (core/tournament.h): from one to the other, back, and both ways at once. This is one rank's part,
// and all run it at once; the first rank of each node writes, the others look on.
//
// What else a host does only ever makes a write slower, and seldom does so to the same one again
// and again: rounds with slow ones are measured up to twice more, and the least counts. What is
// slow for good stays so.

#include <optional>
#include <vector>

#include "backends/measure/measure.h"
#include "core/pair_time.h"

namespace gradhaul {

// By NIC, then by the node that sends, then by the one that receives; the same on every rank.
// Nothing where a rank was interrupted. Throws as WriteStream::times().
std::optional<std::vector<PairTime>> measure_pairs(const MeasureRequest& request,
                                                   const RankResources& rank);

}  // namespace gradhaul
