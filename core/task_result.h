#pragma once

// What running a task graph (core/task_graph.h) answered. Times count from the start of the run.

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantities.h"
#include "core/result.h"

namespace gradhaul {

struct TaskResult {
  Duration start;                // of the GPU that began first, its kernel launch included
  Duration end;                  // of the GPU that was complete last
  std::vector<Duration> starts;  // by rank; of a computation, as Task::gpus
  std::vector<Duration> ends;
  // A collective's: its time is from `start` to `end`, its parts and what it was limited by are
  // those of the path within that time.
  ResultRow row;
};

// One task on the path that decided how long all of it took.
struct PathStep {
  int task = 0;
  int first_gpu = 0;  // where the path came in
  int last_gpu = 0;   // where it left: the one that the next step, or the end, waited for
  Duration ready;     // the step before was complete on first_gpu; for the first step, 0
  Duration begin;     // on first_gpu: later than `ready` by Task::delay, or as Task::at asks
  Duration end;       // on last_gpu
  std::vector<TimePart> parts;  // add up to end - begin
};

struct TaskGraphResult {
  std::uint64_t digest = 0;
  Duration end;  // of the last task
  std::vector<TaskResult> tasks;
  std::vector<PathStep> critical_path;  // to the last task to end, in the order of time
  std::vector<ResourceUse> resources;   // over the whole of the run, in name order
  std::vector<PortCounters> counters;   // of the whole run, those not all zero, in name order
  // That carried data of a communicator and of somebody else; parties are the communicators, and
  // after them background traffic.
  std::vector<LinkShare> shared_links;
  std::vector<BackgroundResult> background;
  std::vector<std::string> notes;
  bool interrupted = false;  // then the rest is empty
  RunCost cost;
};

}  // namespace gradhaul
