#pragma once

// One collective of a task graph while it is under way: the engines of its ranks, at ports of their
// own of the transport and the kernels.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/collective_engine.h"
#include "core/schedule.h"
#include "sim/blame.h"

namespace gradhaul {

struct RunningCollective {
  int task = 0;
  std::unique_ptr<Schedule> schedule;
  std::vector<std::unique_ptr<CollectiveEngine>> engines;  // by rank
  Rank first_port = 0;
  std::vector<bool> begun;
  // Of ranks that have not begun: what their peers have already written to them.
  std::vector<std::vector<Completion>> early;
  std::vector<bool> complete;
  int incomplete = 0;
  // When the first rank began: how long each link had been busy, in the order of links.
  std::vector<std::int64_t> busy_before;
};

// How the time of a member of a task came about.
struct MemberPath {
  std::int32_t origin = -1;      // the member where it began
  std::vector<TracePart> parts;  // add up to the time since then
};

}  // namespace gradhaul
