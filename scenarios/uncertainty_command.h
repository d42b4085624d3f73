#pragma once

// predict --uncertainty: how far the times may be off because of the estimates that they rest on.

#include <atomic>

#include "core/result.h"
#include "scenarios/command_context.h"
#include "scenarios/predict_command.h"
#include "scenarios/scenario.h"
#include "sim/step_prediction.h"

namespace gradhaul {

// Runs the scenario again with each estimate at its least and at its greatest value, one at a time,
// and gives every row of `prediction`, which is its run as it stands, the range that this makes.
// False where it was interrupted: what was finished counts. Throws SimulationError.
bool add_uncertainty(const Scenario& scenario, const PredictOptions& options,
                     const CommandContext& context, const std::atomic<bool>& interrupted,
                     Prediction& prediction);
// The same of a training step: of the step itself, and of each kind of message in its rows.
bool add_uncertainty(const Scenario& scenario, const PredictOptions& options,
                     const CommandContext& context, const std::atomic<bool>& interrupted,
                     StepPrediction& step);

}  // namespace gradhaul
