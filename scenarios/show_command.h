#pragma once

// gradhaul show: the scenario with everything filled in, and the topology drawn.

#include <string>
#include <vector>

#include "scenarios/command_context.h"

namespace gradhaul {

struct ShowOptions {
  std::string scenario;
  std::vector<std::string> settings;
  std::string dot;  // the file to draw into; empty: none
};

// The exit status.
int run_show(const ShowOptions& options, const CommandContext& context);

}  // namespace gradhaul
