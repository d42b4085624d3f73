#pragma once

// The parts of a prediction that only say what was run.

#include "core/placement.h"
#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// Rounded down to whole elements.
Bytes whole_elements(const PredictionRequest& request, Bytes size);
void show_placement(const Placement& placement, Prediction& prediction);
ResultRow prediction_row(const PredictionRequest& request, int channels, Bytes size);

}  // namespace gradhaul
