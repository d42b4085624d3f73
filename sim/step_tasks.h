#pragma once

// A training step as tasks of one packet world; see sim/step_prediction.h.

#include <map>
#include <tuple>
#include <vector>

#include "core/task_graph.h"
#include "sim/step_prediction.h"

namespace gradhaul {

// The operations of a plan as tasks: of one that computes a task on all GPUs of its stage, of one
// that communicates a task for each of its groups.
class StepTasks {
 public:
  StepTasks(const PredictionRequest& request, const TrainingStep& step, const StepPlan& plan);

  const TaskGraph& graph() const { return graph_; }
  // The tasks of an operation, in the order of its groups: [first, first + count).
  int first_task(int operation) const { return first_task_[static_cast<std::size_t>(operation)]; }

 private:
  void add_compute(const StepOperation& operation);
  void add_collectives(const StepOperation& operation);
  int communicator(const StepTraffic& traffic, int group, const std::vector<Rank>& ranks);
  std::vector<int> tasks_of(const std::vector<int>& operations) const;

  const PredictionRequest& request_;
  const StepPlan& plan_;
  TaskGraph graph_;
  std::vector<int> first_task_;                                  // by operation, and the end
  std::vector<int> last_compute_;                                // by stage
  std::map<std::tuple<StepLane, int, int>, int> communicators_;  // by lane, stage, group
};

// Fills in rows, resources, intervals and the step's time of a described outcome.
void run_step_tasks(const PredictionRequest& request, const TrainingStep& step,
                    StepPrediction& result);

}  // namespace gradhaul
