#pragma once

// A training step (core/training_step.h) over the fabric.
//
// `packet`: every packet of the whole step in one world, collectives of all groups and computations
// beside each other (sim/task_prediction.h). Nothing is skipped.
//
// `flow` and `analytic`: each message of the step is predicted by itself, in one group of each
// kind, in the cluster that this group sees; groups of a kind and stage do the same at the same
// time and share what they have in common; the step is put together by core/step_run.h. What groups
// share in the network's switches is not seen then: only what is in their nodes.

#include "core/prediction_request.h"
#include "core/result.h"
#include "core/step_timeline.h"

namespace gradhaul {

struct StepPrediction {
  // One row for each kind of message: of `packet` the slowest of the step, else as it would take
  // alone. Resources over the whole step.
  Prediction prediction;
  // Without intervals where it was interrupted, or ended because a queue pair gave up, which
  // Prediction::failure then says beside.
  StepOutcome outcome;
};

// Of `request` the workload is not looked at. Throws SimulationError.
StepPrediction predict_step(const PredictionRequest& request, const TrainingStep& step);

}  // namespace gradhaul
