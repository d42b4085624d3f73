#include "sim/task_plan.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/engine_layout.h"
#include "sim/buffer_cycles.h"

namespace gradhaul {
namespace {

const Communicator& communicator_of(const TaskGraph& graph, const Task& task) {
  return graph.communicators[static_cast<std::size_t>(task.communicator)];
}

std::vector<int> by_gpus(const std::vector<Communicator>& communicators) {
  std::vector<int> order(communicators.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return communicators[static_cast<std::size_t>(a)].gpus <
           communicators[static_cast<std::size_t>(b)].gpus;
  });
  return order;
}

void add_keys(const TaskGraph& graph, const Task& task, const Placement& placement,
              std::set<ConnectionKey>& keys) {
  const std::unique_ptr<Schedule> schedule = schedule_of(graph, task, placement);
  const EngineSettings settings = engine_settings_of(graph, task);
  for (Rank rank = 0; rank < schedule->ranks(); ++rank) {
    for (const ConnectionEnd& end :
         lay_out(*schedule, rank, settings.slots, settings.slot_size).connections) {
      if (end.sends) keys.insert(end.key);
    }
  }
}

class PlanBuilder {
 public:
  PlanBuilder(const PredictionRequest& request, const Fabric& fabric, const TaskGraph& graph)
      : request_(request), fabric_(fabric), graph_(graph) {
    plan_.wiring_of_task.assign(graph.tasks.size(), -1);
    plan_.start_places.assign(graph.tasks.size(), 0);
  }

  TaskPlan build() {
    for (const int communicator : by_gpus(graph_.communicators)) add_communicator(communicator);
    for (const BackgroundTraffic& traffic : graph_.background) add_background(traffic);
    refuse_buffer_cycles(fabric_, plan_.wiring.flows);
    return std::move(plan_);
  }

 private:
  void add_communicator(int number) {
    std::set<Collective> collectives;
    for (const Task& task : graph_.tasks) {
      if (runs_on(task, number)) collectives.insert(task.collective);
    }
    for (const Collective collective : collectives) add_wiring(number, collective);
    place_ += static_cast<int>(graph_.communicators[static_cast<std::size_t>(number)].gpus.size());
  }

  static bool runs_on(const Task& task, int communicator) {
    return task.kind == TaskKind::kCollective && task.communicator == communicator;
  }

  void add_wiring(int number, Collective collective) {
    const Communicator& communicator = graph_.communicators[static_cast<std::size_t>(number)];
    TaskWiring added;
    added.communicator = number;
    added.collective = collective;
    added.placed = place_communicator(fabric_.cluster(), communicator, collective);
    added.places = ring_places(added.placed.placement);
    std::set<ConnectionKey> keys;
    std::set<std::tuple<Bytes, DataType>> seen;
    for (std::size_t i = 0; i < graph_.tasks.size(); ++i) {
      const Task& task = graph_.tasks[i];
      if (!runs_on(task, number) || task.collective != collective) continue;
      plan_.wiring_of_task[i] = static_cast<int>(plan_.wirings.size());
      plan_.start_places[i] = place_;
      if (!seen.insert({task.size, task.datatype}).second) continue;
      add_keys(graph_, task, added.placed.placement, keys);
    }
    added.first_connection = plan_.wiring.connections.size();
    added.connections = keys.size();
    append(plan_.wiring, wire_up(fabric_, added.placed.placement, *added.placed.membership,
                                 settings_of(communicator.communication, request_.seed),
                                 {keys.begin(), keys.end()}));
    plan_.wirings.push_back(std::move(added));
  }

  void add_background(const BackgroundTraffic& traffic) {
    TrafficPlan planned = plan_traffic(fabric_.cluster(), traffic, request_.seed);
    planned.first_connection = plan_.wiring.connections.size();
    append(plan_.wiring, wire_traffic(fabric_, planned, request_.seed));
    plan_.background.push_back(std::move(planned));
  }

  const PredictionRequest& request_;
  const Fabric& fabric_;
  const TaskGraph& graph_;
  TaskPlan plan_;
  int place_ = 0;
};

}  // namespace

TaskPlan plan_tasks(const PredictionRequest& request, const Fabric& fabric,
                    const TaskGraph& graph) {
  return PlanBuilder(request, fabric, graph).build();
}

std::unique_ptr<Schedule> schedule_of(const TaskGraph& graph, const Task& task,
                                      const Placement& placement) {
  const Communicator& communicator = communicator_of(graph, task);
  ScheduleRequest asked;
  asked.collective = task.collective;
  asked.algorithm = communicator.communication.algorithm;
  asked.ranks = static_cast<Rank>(communicator.gpus.size());
  asked.count = task.size.count / size_of(task.datatype).count;
  asked.datatype = task.datatype;
  asked.slot_size = communicator.communication.slot_size;
  asked.listed = communicator.communication.listed;
  return make_schedule(asked, placement);
}

EngineSettings engine_settings_of(const TaskGraph& graph, const Task& task) {
  const Communication& communication = communicator_of(graph, task).communication;
  return {task.datatype, task.reduction, communication.slots, communication.slot_size};
}

}  // namespace gradhaul
