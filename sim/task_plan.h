#pragma once

// What a run of a task graph consists of before it starts: where each communicator's ranks are, and
// one wiring of them all. Communicators are taken in the order of their GPUs, not of their listing,
// so that ties are settled the same however they are listed.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/collective_engine.h"
#include "core/communicator_placement.h"
#include "core/make_schedule.h"
#include "core/prediction_request.h"
#include "core/task_graph.h"
#include "sim/background_traffic.h"
#include "sim/wiring.h"

namespace gradhaul {

// The connections over which a communicator runs one of the collectives.
struct TaskWiring {
  int communicator = 0;
  Collective collective = Collective::kAllReduce;
  CommunicatorPlacement placed;
  RingPlaces places;
  std::size_t first_connection = 0;  // of the whole wiring
  std::size_t connections = 0;
};

struct TaskPlan {
  std::vector<TaskWiring> wirings;
  std::vector<int> wiring_of_task;  // index; -1: a computation
  std::vector<TrafficPlan> background;
  Wiring wiring;                  // of all communicators, then of all background traffic
  std::vector<int> start_places;  // by task: what settles which of several starts first

  std::span<const WiredConnection> connections(std::size_t first, std::size_t count) const {
    return std::span(wiring.connections).subspan(first, count);
  }
};

// Throws SimulationError.
TaskPlan plan_tasks(const PredictionRequest& request, const Fabric& fabric, const TaskGraph& graph);

// What a collective of the graph runs on each of its ranks.
std::unique_ptr<Schedule> schedule_of(const TaskGraph& graph, const Task& task,
                                      const Placement& placement);
EngineSettings engine_settings_of(const TaskGraph& graph, const Task& task);

}  // namespace gradhaul
