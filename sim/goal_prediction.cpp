#include "sim/goal_prediction.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/assert.h"
#include "core/goal_program.h"
#include "core/protocol.h"
#include "sim/task_prediction.h"

namespace gradhaul {
namespace {

// Of the steps of the path, one after the other; what lies between them is waiting for nothing.
std::vector<TimePart> parts_of(const std::vector<PathStep>& path) {
  std::map<std::pair<std::string, std::string>, Duration> times;
  for (const PathStep& step : path) {
    for (const TimePart& part : step.parts) times[{part.resource, part.cause}] += part.time;
    times[{"", "late start"}] += step.begin - step.ready;
  }
  std::vector<TimePart> parts;
  for (const auto& [name, time] : times) {
    if (time > Duration{}) parts.push_back({name.first, name.second, time});
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const TimePart& a, const TimePart& b) { return a.time > b.time; });
  return parts;
}

// What limited the longest of its steps.
std::string limited_by(const TaskGraphResult& result, const TaskGraph& graph) {
  std::map<std::string, Duration> times;
  for (const PathStep& step : result.critical_path) {
    const auto task = static_cast<std::size_t>(step.task);
    const bool computes = graph.tasks[task].kind == TaskKind::kCompute;
    times[computes ? "compute" : result.tasks[task].row.limited_by] += step.end - step.begin;
  }
  const auto most = std::max_element(
      times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == times.end() ? "latency" : most->first;
}

}  // namespace

Prediction predict_goal(const PredictionRequest& request) {
  GRADHAUL_ASSERT(request.goal != nullptr, "there is a program");
  const GoalProgram& program = *request.goal;
  std::vector<int> gpus;
  for (Rank rank = 0; rank < static_cast<Rank>(program.ranks.size()); ++rank) {
    gpus.push_back(request.cluster.gpu_of(rank));
  }
  std::vector<GoalProblem> problems;
  const TaskGraph graph = goal_tasks(program, gpus, request.communication, problems);
  if (!problems.empty()) throw SimulationError(problems.front().text);
  TaskGraphResult result = predict_tasks(request, graph);

  Prediction prediction;
  prediction.fidelity = "packet";
  prediction.seed = request.seed;
  prediction.interrupted = result.interrupted;
  prediction.cost = result.cost;
  prediction.notes = std::move(result.notes);
  if (result.interrupted) return prediction;
  prediction.digest = result.digest;
  prediction.resources = std::move(result.resources);
  prediction.counters = std::move(result.counters);
  ResultRow row;
  row.collective = Collective::kSendRecv;
  row.algorithm = program.name;
  row.protocol = protocol_name(request.communication.protocol);
  row.profile = request.communication.profile;
  row.ranks = static_cast<int>(program.ranks.size());
  row.size = row.bytes_sent_per_rank = program.bytes_sent_per_rank();
  row.datatype = DataType::kBf16;
  row.count = row.size.count / size_of(row.datatype).count;
  row.time = result.end;
  row.parts = parts_of(result.critical_path);
  row.limited_by = limited_by(result, graph);
  for (const TaskResult& task : result.tasks) {
    row.channels = std::max(row.channels, task.row.channels);
  }
  prediction.channels = row.channels;
  prediction.rows.push_back(std::move(row));
  return prediction;
}

}  // namespace gradhaul
