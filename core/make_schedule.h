#pragma once

// From what is asked to the schedule that does it: a pure function, the same on every rank.

#include <cstdint>
#include <memory>

#include "core/communication.h"
#include "core/placement.h"
#include "core/schedule.h"
#include "core/workload.h"

namespace gradhaul {

struct ScheduleRequest {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;  // or what running_algorithm() makes of it
  Rank ranks = 2;
  std::int64_t count = 0;  // elements of a rank's message
  DataType datatype = DataType::kFp32;
  Bytes slot_size{512 * 1024};
  // Of kListed; `count` is then a multiple of its chunks.
  std::shared_ptr<const ListedProgram> listed = nullptr;
  bool one_step = false;  // of Communication
};

// For what core/collective_algorithms.h has; anything else has been refused before. reduce_scatter,
// all_gather and all_to_all are about parts of count / ranks elements, rounded down, as nccl-tests
// does.
std::unique_ptr<Schedule> make_schedule(const ScheduleRequest& request, const Placement& placement);

// Of a rank's input, and of its output: `count`, or whole parts of it.
std::int64_t elements_of_message(Collective collective, std::int64_t count, Rank ranks);
// Where in its output `rank` has its result: all of it, or after reduce_scatter its own part,
// beside which the output holds what is left of partial sums.
Span result_of(Collective collective, std::int64_t count, Rank ranks, Rank rank);

// Whether input and output may be the same memory.
bool runs_in_place(Collective collective);
bool runs_in_place(Collective collective, const Communication& communication);

}  // namespace gradhaul
