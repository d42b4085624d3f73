#pragma once

// The rungs of a ladder below the collective (core/ladder.h), predicted: the link and the pairs by
// closed forms, the ring step packet by packet at whatever fidelity the collective is asked for.

#include <vector>

#include "core/ladder.h"
#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// Of each row of `whole`, which `request` was answered with, five rungs from below, the row itself
// last. Requires several nodes, one collective without jobs, and no plan left to choose. What was
// interrupted is missing, with all behind it. Throws SimulationError.
std::vector<LadderRow> predict_ladder(const PredictionRequest& request, const Prediction& whole);

}  // namespace gradhaul
