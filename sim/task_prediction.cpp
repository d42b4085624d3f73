#include "sim/task_prediction.h"

#include <algorithm>
#include <utility>

#include "sim/link_sharing.h"
#include "sim/path_report.h"
#include "sim/rare_losses.h"
#include "sim/run_cost.h"
#include "sim/sized_cluster.h"
#include "sim/task_world.h"
#include "sim/world_report.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kEventsBetweenQuestions = 200'000;

// False: it is to end here.
bool keep_going(const PredictionRequest& request, const TaskWorld& world) {
  if (request.interrupted != nullptr && request.interrupted->load()) return false;
  if (request.progress != nullptr) {
    Bytes largest;
    for (const Task& task : world.graph().tasks) largest = std::max(largest, task.size);
    request.progress->on_progress(world.progress(), largest);
  }
  return true;
}

TaskResult task_result(const TaskWorld& world, int task) {
  TaskResult result;
  const auto place = static_cast<std::size_t>(task);
  const std::size_t members = gpus_of(world.graph(), world.graph().tasks[place]).size();
  const int first = world.order().first_member(task);
  for (int member = first; member < first + static_cast<int>(members); ++member) {
    result.starts.push_back({world.start_time(member)});
    result.ends.push_back({world.completion_time(member)});
  }
  result.start = *std::min_element(result.starts.begin(), result.starts.end());
  result.end = *std::max_element(result.ends.begin(), result.ends.end());
  result.row = world.row(task);
  return result;
}

std::vector<PathStep> critical_path(const TaskWorld& world) {
  std::vector<PathStep> steps;
  Duration ready;
  for (const int member : world.critical_members()) {
    const MemberPath& path = world.path(member);
    PathStep step;
    step.task = world.order().task(member);
    step.first_gpu = world.order().gpu(path.origin);
    step.last_gpu = world.order().gpu(member);
    step.ready = ready;
    step.begin = {world.start_time(path.origin)};
    step.end = {world.completion_time(member)};
    step.parts = time_parts(path.parts, world.fabric().resources());
    ready = step.end;
    steps.push_back(std::move(step));
  }
  return steps;
}

// The simulator looks after itself: what the parts of a path add up to, and that no link is over
// its rate.
void check(const TaskWorld& world) {
  for (int member = 0; member < world.order().members(); ++member) {
    const MemberPath& path = world.path(member);
    std::int64_t accounted = 0;
    for (const TracePart& part : path.parts) accounted += part.ps;
    GRADHAUL_ASSERT(accounted == world.completion_time(member) - world.start_time(path.origin),
                    "the parts of a path add up to its time");
  }
  for (std::size_t i = 0; i < world.fabric().links().size(); ++i) {
    GRADHAUL_ASSERT(world.busy(static_cast<LinkId>(i)) <= world.end(), "no link is over its rate");
  }
}

void add_notes(const TaskWorld& world, std::vector<std::string>& notes) {
  for (const TaskWiring& wiring : world.plan().wirings) {
    const auto& name =
        world.graph().communicators[static_cast<std::size_t>(wiring.communicator)].name;
    for (const std::string& note : all_notes(wiring.placed.placement)) {
      notes.push_back(name.empty() ? note : name + ": " + note);
    }
  }
}

std::vector<std::optional<ResultRow>> finished_rows(const TaskWorld& world) {
  std::vector<std::optional<ResultRow>> rows;
  for (std::size_t i = 0; i < world.graph().tasks.size(); ++i) {
    const Task& task = world.graph().tasks[i];
    const int first = world.order().first_member(static_cast<int>(i));
    const auto members = static_cast<int>(gpus_of(world.graph(), task).size());
    bool finished = task.kind == TaskKind::kCollective;
    for (int member = first; finished && member < first + members; ++member) {
      finished = world.completion_time(member) >= 0;
    }
    rows.push_back(finished ? std::optional(world.row(static_cast<int>(i))) : std::nullopt);
  }
  return rows;
}

void run_on(TaskWorld& world) {
  try {
    world.run(kEventsBetweenQuestions);
  } catch (const TransportFailure& failure) {
    throw TasksFailed(failure.what(), finished_rows(world));
  }
}

}  // namespace

TaskGraphResult predict_tasks(const PredictionRequest& request, const TaskGraph& graph) {
  const RunCostMeter meter;
  if (request.fidelity != Fidelity::kPacket) {
    throw SimulationError(
        "several collectives beside each other are simulated packet by packet only: "
        "simulation.fidelity packet");
  }
  GRADHAUL_ASSERT(!graph.tasks.empty(), "there is something to do");
  const Fabric fabric(with_sized_topology(request.cluster));
  TaskWorld world(request, fabric, graph);
  TaskGraphResult result;
  while (!world.complete()) {
    run_on(world);
    if (!world.complete() && !keep_going(request, world)) {
      result.interrupted = true;
      return result;
    }
  }
  check(world);
  result.digest = world.digest();
  result.end = {world.end()};
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    result.tasks.push_back(task_result(world, static_cast<int>(i)));
  }
  result.critical_path = critical_path(world);
  result.resources = resource_uses(world);
  result.counters = port_counters(world);
  result.shared_links = shared_links(world);
  for (std::size_t i = 0; i < graph.background.size(); ++i) {
    result.background.push_back(world.background(i));
  }
  add_notes(world, result.notes);
  for (std::string& note : loss_notes(world, world.plan().wiring, world.transport())) {
    result.notes.push_back(std::move(note));
  }
  result.cost.packets = world.transport().packets();
  result.cost.packet_hops = world.engine().packet_hops();
  meter.measure(result.cost);
  return result;
}

}  // namespace gradhaul
