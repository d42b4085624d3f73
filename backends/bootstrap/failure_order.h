#pragma once

// Whose failure came first, when several ranks tell of one: most of them are only victims.

#include <string>
#include <vector>

#include "backends/bootstrap/exchange.h"

namespace gradhaul {

// Reports in the order in which they came. First stands who tells of itself alone; then who is told
// of by others and says nothing itself (killed, stopped, cut off): a rank that still can complain
// is a victim. Else the earlier report is nearer to the cause. Of one rank the first report is
// kept.
std::vector<RankFailure> by_likeliest_cause(const std::vector<RankFailure>& reports);

// The ranks that the first report is not about.
std::string victims_of(const std::vector<RankFailure>& ordered);

}  // namespace gradhaul
