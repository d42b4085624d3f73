#pragma once

// gradhaul predict: how long, how much, what limits.

#include <string>
#include <vector>

#include "scenarios/capture_command.h"
#include "scenarios/command_context.h"
#include "scenarios/progress_bar.h"
#include "scenarios/trace_command.h"

namespace gradhaul {

struct PredictOptions {
  std::string scenario;
  std::vector<std::string> settings;
  std::string json;  // empty: none is written
  std::string csv;
  TraceOptions trace;
  CaptureOptions capture;
  ProgressMode progress = ProgressMode::kAuto;
  bool no_skip = false;
};

// The exit status.
int run_predict(const PredictOptions& options, const CommandContext& context);

}  // namespace gradhaul
