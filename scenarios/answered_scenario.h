#pragma once

#include "scenarios/document.h"

namespace gradhaul {

// A result file repeats the scenario that it answers: `tree` becomes that one. Anything else stays
// what it is. `whole`: where a result that holds none is reported.
void unwrap_result(TreeNode& tree, const Location& whole, Problems& problems);

}  // namespace gradhaul
