#pragma once

// The cheap fidelities of a training step; see sim/step_prediction.h.

#include "sim/step_prediction.h"

namespace gradhaul {

// Fills in rows, resources, intervals and the step's time of a described outcome.
void run_step_messages(const PredictionRequest& request, const TrainingStep& step,
                       StepPrediction& result);

}  // namespace gradhaul
