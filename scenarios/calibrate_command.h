#pragma once

// gradhaul calibrate: microbenchmarks of a backend, as values that devices of scenarios can have.

#include <string>
#include <vector>

#include "core/calibration.h"
#include "scenarios/command_context.h"
#include "scenarios/measure_options.h"

namespace gradhaul {

struct CalibrateOptions {
  // Who runs, over what; its scenario is calibrate's own.
  MeasureOptions measure;
  std::vector<std::string> sizes{"8B", "256B", "4KiB", "64KiB", "512KiB", "4MiB"};
  std::vector<int> queue_pairs;  // empty: 1, 2 and 4 over verbs, else 1
  std::vector<int> depths{1, 2, 8};
  int messages = CalibrationSettings{}.most_messages;
  // Files to write; empty: none.
  std::string nic;
  std::string gpu;
  std::string scenario;
  // The devices over which the first two stand; empty: none.
  std::string base;
  std::string gpu_base;
};

// The exit status.
int run_calibrate(const CalibrateOptions& options, const CommandContext& context);

}  // namespace gradhaul
