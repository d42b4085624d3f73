#pragma once

// The front door of the simulator: a request in, a prediction out. Deterministic: the same request
// gives the same prediction but for `cost`, on every machine and in every build type.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// One row per size of the workload. Throws SimulationError.
Prediction predict(const PredictionRequest& request);

}  // namespace gradhaul
