#pragma once

// Several jobs in one cluster, background traffic around them, and what each of them would be by
// itself.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// A row for each job, or where only background traffic is there beside one collective of all ranks,
// for each size. Then, for the jobs or the last size: each alone, and where there are more than two
// parties, all but one of them. Requires a cluster whose topology is sized. Throws SimulationError.
Prediction predict_jobs(const PredictionRequest& request);

}  // namespace gradhaul
