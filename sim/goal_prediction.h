#pragma once

// A program of messages and computations (core/goal_program.h), every packet of it.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// One row: the time to the last operation, of messages as large as what the rank that sends most
// sends. Of `request` the workload is not looked at. Throws SimulationError.
Prediction predict_goal(const PredictionRequest& request);

}  // namespace gradhaul
