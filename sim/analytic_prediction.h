#pragma once

// Fidelity `analytic`: closed forms over the same fabric, placement and schedule as the packet
// model, with nothing simulated. Milliseconds for a rack, seconds for a thousand GPUs. How the time
// is found, and how far off it may be: sim/analytic_bracket.h.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// The topology is sized (core/topology_size.h). error_bound is the largest over all rows. Throws
// SimulationError where no path leads from one rank to another.
Prediction predict_analytically(const PredictionRequest& request);

}  // namespace gradhaul
