#pragma once

// gradhaul explain: where the time goes, what limits, what would help; or how two runs differ.

#include <string>
#include <vector>

#include "scenarios/command_context.h"
#include "scenarios/progress_bar.h"

namespace gradhaul {

struct ExplainOptions {
  // A scenario, or a result file: that is explained as it is, unless there are settings.
  std::string scenario;
  std::string other;  // a second result file; empty: none
  std::vector<std::string> settings;
  std::vector<std::string> against;  // settings of a second run, to which the first is compared
  std::string json;                  // empty: none is written
  int top = 5;                       // changes to try
  ProgressMode progress = ProgressMode::kAuto;
};

// The exit status.
int run_explain(const ExplainOptions& options, const CommandContext& context);

}  // namespace gradhaul
