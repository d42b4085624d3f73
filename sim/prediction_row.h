#pragma once

// The part of a result row that only says what was run.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// Rounded down to whole elements.
Bytes whole_elements(const PredictionRequest& request, Bytes size);
ResultRow prediction_row(const PredictionRequest& request, int channels, Bytes size);

}  // namespace gradhaul
