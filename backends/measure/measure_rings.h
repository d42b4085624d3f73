#pragma once

// A collective on the first ranks alone, then on more of them: from how many nodes on it falls
// short. This is one rank's part, and all run it at once; who has no part in one looks on.

#include <optional>
#include <vector>

#include "backends/measure/measure.h"

namespace gradhaul {

// The median of each, until the slowest rank was done. Nothing where a rank was interrupted. Throws
// as HalfRow::times().
std::optional<std::vector<Duration>> measure_rings(const MeasureRequest& request,
                                                   const RankResources& rank);

}  // namespace gradhaul
