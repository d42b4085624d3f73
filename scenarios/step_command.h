#pragma once

// gradhaul predict, where the scenario asks for a whole training step.

#include "core/prediction_request.h"
#include "scenarios/predict_command.h"
#include "scenarios/scenario.h"

namespace gradhaul {

// The exit status. Throws SimulationError.
int predict_training_step(const Scenario& scenario, PredictionRequest request,
                          const PredictOptions& options, const Picture& picture,
                          const CommandContext& context);

}  // namespace gradhaul
