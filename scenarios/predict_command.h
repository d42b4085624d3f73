#pragma once

// gradhaul predict: how long, how much, what limits.

#include <string>
#include <vector>

#include "core/result.h"
#include "scenarios/capture_command.h"
#include "scenarios/command_context.h"
#include "scenarios/picture_command.h"
#include "scenarios/progress_bar.h"
#include "scenarios/scenario.h"
#include "scenarios/trace_command.h"

namespace gradhaul {

struct PredictOptions {
  std::string scenario;
  std::vector<std::string> settings;
  std::string json;  // empty: none is written
  std::string csv;
  PictureOptions picture;
  TraceOptions trace;
  CaptureOptions capture;
  ProgressMode progress = ProgressMode::kAuto;
  bool no_skip = false;
  bool by_events = false;
  bool uncertainty = false;
  bool ladder = false;
};

// Notes of the reader first, in the order in which things happened; then those of the busbw bound,
// which aborts where a row is above it.
void complete_notes(const Scenario& scenario, Prediction& prediction);

// The exit status.
int run_predict(const PredictOptions& options, const CommandContext& context);

}  // namespace gradhaul
