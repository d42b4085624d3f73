#pragma once

// A task graph in the packet model: every packet of all of its collectives, and of the traffic
// around them, in one simulated cluster. Nothing is skipped: neither symmetry nor recurrence is
// looked for, since what runs beside a collective has neither.

#include "core/prediction_request.h"
#include "core/task_graph.h"
#include "core/task_result.h"

namespace gradhaul {

// Of `request` the workload and the communication plan are not looked at. Packets only; requires a
// checked cluster and graph. Throws SimulationError.
TaskGraphResult predict_tasks(const PredictionRequest& request, const TaskGraph& graph);

}  // namespace gradhaul
