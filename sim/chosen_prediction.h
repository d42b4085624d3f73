#pragma once

// A prediction whose plan is chosen size by size (sim/plan_choice.h): sizes that follow each other
// and take the same plan are one run.

#include <functional>

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// `run` predicts a request with nothing left to choose.
Prediction predict_chosen(const PredictionRequest& request,
                          const std::function<Prediction(const PredictionRequest&)>& run);

}  // namespace gradhaul
