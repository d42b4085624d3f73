#pragma once

// A value of a scenario as one line of YAML, as --set takes it.

#include <string>

#include "scenarios/document.h"

namespace gradhaul {

// "4096B", "[0, 1]", "{kind: pfc, xoff: 200kB}"; quoted where it would else read as something else.
std::string flow_text(const TreeNode& node);

}  // namespace gradhaul
