#pragma once

// The rungs of a ladder below the collective (core/ladder.h), measured on real ranks: this is one
// rank's part, and all run it at once.

#include <optional>
#include <vector>

#include "backends/measure/measure.h"
#include "core/ladder.h"

namespace gradhaul {

// Of one size, four rungs from below; those that no backend can measure say so. Nothing where a
// rank was interrupted. Throws as HalfRow::measure().
std::optional<std::vector<LadderRow>> measure_rungs(const MeasureRequest& request,
                                                    const Placement& placement,
                                                    const RankResources& rank, Bytes size);

// The rung above these, of the collective's row out of place.
LadderRow collective_rung(const MeasureRequest& request, const Placement& placement,
                          const ResultRow& row);

}  // namespace gradhaul
