#pragma once

// A task graph in the packet model: every packet of all of its collectives, and of the traffic
// around them, in one simulated cluster. Nothing is skipped: neither symmetry nor recurrence is
// looked for, since what runs beside a collective has neither.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/prediction_request.h"
#include "core/task_graph.h"
#include "core/task_result.h"

namespace gradhaul {

// A queue pair gave up. Of each task that was a collective and was finished by then, its row.
class TasksFailed : public TransportFailure {
 public:
  TasksFailed(const std::string& why, std::vector<std::optional<ResultRow>> finished)
      : TransportFailure(why), finished_(std::move(finished)) {}
  const std::vector<std::optional<ResultRow>>& finished() const { return finished_; }

 private:
  std::vector<std::optional<ResultRow>> finished_;
};

// Of `request` the workload and the communication plan are not looked at. Packets only; requires a
// checked cluster and graph. Throws TasksFailed, or another SimulationError.
TaskGraphResult predict_tasks(const PredictionRequest& request, const TaskGraph& graph);

}  // namespace gradhaul
