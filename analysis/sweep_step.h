#pragma once

// A training step as a point of a sweep: what its line in the table says, of the "training_step" of
// its result.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "analysis/sweep_outcome.h"
#include "core/step_timeline.h"

namespace gradhaul {

struct SweepStep {
  double time_us = 0;
  double items_per_s = 0;               // tokens or samples, of all replicas
  std::string item;                     // "token" or "sample"
  std::optional<double> share_of_peak;  // of what all GPUs together could compute, where known
  // Of the pipeline stage that waits longest for communication.
  double exposed_us = 0;
  double communicating_us = 0;
};

// As outcome_of(prediction, version), with the step; its time line, which is long, is left out.
SweepOutcome outcome_of_step(const Prediction& prediction, const TrainingStep& step,
                             const StepOutcome& outcome, const std::string& version);

// Nothing where it is no step's; throws nlohmann::json::exception where it is ill-formed.
std::optional<SweepStep> step_of(const nlohmann::ordered_json& result);

// Its columns in CSV, and their names; without line ends.
std::string step_csv_head();
std::string step_csv_line(const SweepStep& step);

}  // namespace gradhaul
