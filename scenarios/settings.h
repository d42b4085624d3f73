#pragma once

// --set PATH=VALUE: replaces or adds one value of a scenario, at any depth, also inside of a node,
// network or device that was given by name.

#include <string>
#include <vector>

#include "scenarios/document.h"
#include "scenarios/references.h"

namespace gradhaul {

// Applies all settings ("PATH=VALUE"), short paths first, so that a node is exchanged before its
// keys are set; of the same path the last one holds. Setting workload.size takes workload.model
// away and the other way round.
void apply_settings(TreeNode& scenario, const std::vector<std::string>& settings,
                    const Library& library, Problems& problems);

}  // namespace gradhaul
