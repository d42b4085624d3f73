#include "sim/step_tasks.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/projected_cluster.h"
#include "core/step_communication.h"
#include "core/step_run.h"
#include "sim/task_prediction.h"

namespace gradhaul {
namespace {

// Where rank 0 of every stage stands in an operation's task, which is then its first one.
int place_of(const StepPlan& plan, const StepOperation& operation, int stage) {
  if (operation.traffic < 0) return 0;
  const StepTraffic& traffic = plan.traffics[static_cast<std::size_t>(operation.traffic)];
  // Rank 0 of a pair sends.
  return traffic.groups == GroupKind::kPipeline && stage != operation.stage ? 1 : 0;
}

}  // namespace

StepTasks::StepTasks(const PredictionRequest& request, const TrainingStep& step,
                     const StepPlan& plan)
    : request_(request), plan_(plan), last_compute_(plan.stages.size(), -1) {
  if (step.shared_processors) graph_.multiprocessors = request.cluster.node.gpu.multiprocessors;
  for (const StepOperation& operation : plan.operations) {
    first_task_.push_back(static_cast<int>(graph_.tasks.size()));
    if (operation.traffic < 0) {
      add_compute(operation);
    } else {
      add_collectives(operation);
    }
  }
  first_task_.push_back(static_cast<int>(graph_.tasks.size()));
  graph_.background = request.background;
}

std::vector<int> StepTasks::tasks_of(const std::vector<int>& operations) const {
  std::vector<int> tasks;
  for (const int operation : operations) {
    const auto index = static_cast<std::size_t>(operation);
    for (int task = first_task_[index]; task < first_task_[index + 1]; ++task) {
      tasks.push_back(task);
    }
  }
  return tasks;
}

void StepTasks::add_compute(const StepOperation& operation) {
  Task task;
  task.name = operation_name(plan_, operation);
  task.kind = TaskKind::kCompute;
  const ParallelLayout& layout = plan_.layout;
  for (int d = 0; d < layout.data; ++d) {
    for (int t = 0; t < layout.tensor; ++t) {
      task.gpus.push_back(request_.cluster.gpu_of(layout.rank_at(t, d, operation.stage)));
    }
  }
  task.work = operation.work;
  task.after = tasks_of(operation.after);
  int& last = last_compute_[static_cast<std::size_t>(operation.stage)];
  if (last >= 0) task.after.push_back(last);
  std::sort(task.after.begin(), task.after.end());
  task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
  last = static_cast<int>(graph_.tasks.size());
  graph_.tasks.push_back(std::move(task));
}

int StepTasks::communicator(const StepTraffic& traffic, int group, const std::vector<Rank>& ranks) {
  const auto next = static_cast<int>(graph_.communicators.size());
  const auto [found, made] = communicators_.try_emplace({traffic.lane, traffic.stage, group}, next);
  if (!made) return found->second;
  Communicator communicator;
  communicator.name =
      "group " + std::to_string(group) + " of stage " + std::to_string(traffic.stage);
  for (const Rank rank : ranks) {
    communicator.gpus.push_back(request_.cluster.gpu_of(rank));
  }
  const auto projected = project(request_.cluster, communicator.gpus);
  const Cluster seen = projected
                           ? projected->cluster
                           : with_lone_ranks(request_.cluster, static_cast<int>(ranks.size()));
  communicator.communication = communication_in_group(request_.communication, traffic.collective,
                                                      seen, request_.cluster.ranks());
  if (traffic.lane == StepLane::kPipelineBackward) {
    std::reverse(communicator.gpus.begin(), communicator.gpus.end());
  }
  graph_.communicators.push_back(std::move(communicator));
  return next;
}

void StepTasks::add_collectives(const StepOperation& operation) {
  const StepTraffic& traffic = plan_.traffics[static_cast<std::size_t>(operation.traffic)];
  const auto groups = parallel_groups(plan_.layout, traffic.groups, traffic.stage);
  const std::vector<int> after = tasks_of(operation.after);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    Task task;
    task.name = operation_name(plan_, operation);
    task.communicator = communicator(traffic, static_cast<int>(group), groups[group]);
    task.collective = traffic.collective;
    task.datatype = traffic.datatype;
    task.size = traffic.size;
    task.after = after;
    graph_.tasks.push_back(std::move(task));
  }
}

namespace {

// Of each kind of message the slowest that was finished.
void keep_finished(const TasksFailed& failed, const StepTasks& tasks, StepPrediction& result) {
  Prediction& prediction = result.prediction;
  prediction.failure = failed.what();
  prediction.interrupted = true;
  const StepPlan& plan = result.outcome.plan;
  std::vector<std::optional<ResultRow>> slowest(plan.traffics.size());
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    if (plan.operations[i].traffic < 0) continue;
    auto& slow = slowest[static_cast<std::size_t>(plan.operations[i].traffic)];
    const int end = tasks.first_task(static_cast<int>(i) + 1);
    for (int task = tasks.first_task(static_cast<int>(i)); task < end; ++task) {
      const auto& row = failed.finished()[static_cast<std::size_t>(task)];
      if (row && (!slow || row->time > slow->time)) slow = row;
    }
  }
  for (std::optional<ResultRow>& row : slowest) {
    if (!row) continue;
    prediction.channels = std::max(prediction.channels, row->channels);
    prediction.rows.push_back(std::move(*row));
  }
}

}  // namespace

void run_step_tasks(const PredictionRequest& request, const TrainingStep& step,
                    StepPrediction& result) {
  StepOutcome& outcome = result.outcome;
  const StepPlan& plan = outcome.plan;
  result.prediction.fidelity = "packet";
  const StepTasks tasks(request, step, plan);
  TaskGraphResult run;
  try {
    run = predict_tasks(request, tasks.graph());
  } catch (const TasksFailed& failed) {
    return keep_finished(failed, tasks, result);
  }
  Prediction& prediction = result.prediction;
  prediction.interrupted = run.interrupted;
  prediction.cost = run.cost;
  prediction.notes = std::move(run.notes);
  if (run.interrupted) return;
  prediction.digest = run.digest;
  prediction.resources = std::move(run.resources);
  prediction.counters = std::move(run.counters);
  outcome.time = run.end;
  std::vector<int> slowest(plan.traffics.size(), -1);
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const StepOperation& operation = plan.operations[i];
    const int first = tasks.first_task(static_cast<int>(i));
    for (const int stage : stages_of(plan, operation)) {
      const auto place = static_cast<std::size_t>(place_of(plan, operation, stage));
      const TaskResult& task = run.tasks[static_cast<std::size_t>(first)];
      // Receives are posted ahead: what is under way begins with the sender.
      outcome.intervals.push_back({static_cast<int>(i), plan.layout.rank_at(0, 0, stage),
                                   task.starts.at(0), task.ends.at(place)});
    }
    if (operation.traffic < 0) continue;
    int& slow = slowest[static_cast<std::size_t>(operation.traffic)];
    for (int task = first; task < tasks.first_task(static_cast<int>(i) + 1); ++task) {
      const auto time = [&run](int index) {
        return run.tasks[static_cast<std::size_t>(index)].row.time;
      };
      if (slow < 0 || time(task) > time(slow)) slow = task;
    }
  }
  for (const int task : slowest) {
    prediction.rows.push_back(run.tasks[static_cast<std::size_t>(task)].row);
    prediction.channels = std::max(prediction.channels, prediction.rows.back().channels);
  }
  std::stable_sort(outcome.intervals.begin(), outcome.intervals.end(),
                   [](const StepInterval& a, const StepInterval& b) { return a.start < b.start; });
}

}  // namespace gradhaul
