#pragma once

// gradhaul check: validates scenarios and does nothing else.

#include <string>
#include <vector>

#include "scenarios/command_context.h"

namespace gradhaul {

struct CheckOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> settings;
};

// All problems of all scenarios; the exit status.
int run_check(const CheckOptions& options, const CommandContext& context);

}  // namespace gradhaul
