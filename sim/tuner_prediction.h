#pragma once

// Fidelity `nccl-tuner`: what NCCL would choose for each size, and the time that its own model
// (core/nccl_tuner.h) expects. Nothing is simulated.

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

// Requires a collective that NCCL tunes and a GPU whose compute capability is known. Where an
// algorithm or protocol is asked for, NCCL's choice is held to it, as by NCCL_ALGO and NCCL_PROTO;
// throws SimulationError where it has none such.
Prediction predict_by_tuner(const PredictionRequest& request);

}  // namespace gradhaul
