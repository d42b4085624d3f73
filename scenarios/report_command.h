#pragma once

// gradhaul report: what result files say, as a page to read and to hand on.

#include <string>
#include <vector>

#include "scenarios/command_context.h"

namespace gradhaul {

struct ReportOptions {
  std::vector<std::string> files;
  std::string html;  // empty: to standard output
  bool no_pictures = false;
};

// The exit status.
int run_report(const ReportOptions& options, const CommandContext& context);

}  // namespace gradhaul
