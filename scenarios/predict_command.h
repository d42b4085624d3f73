#pragma once

// gradhaul predict: how long, how much, what limits.

#include <string>
#include <vector>

#include "scenarios/command_context.h"
#include "scenarios/picture_command.h"
#include "scenarios/progress_bar.h"

namespace gradhaul {

struct PredictOptions {
  std::string scenario;
  std::vector<std::string> settings;
  std::string json;  // empty: none is written
  std::string csv;
  PictureOptions picture;
  ProgressMode progress = ProgressMode::kAuto;
  bool no_skip = false;
};

// The exit status.
int run_predict(const PredictOptions& options, const CommandContext& context);

}  // namespace gradhaul
