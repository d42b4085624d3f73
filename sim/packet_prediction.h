#pragma once

// Fidelity `packet`: one packet world for each size of the workload.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

Prediction predict_packets(const PredictionRequest& request);

}  // namespace gradhaul
