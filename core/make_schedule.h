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
  Algorithm algorithm = Algorithm::kRing;  // of all_reduce
  Rank ranks = 2;
  std::int64_t count = 0;  // elements of a rank's message
  DataType datatype = DataType::kFp32;
  Bytes slot_size{512 * 1024};
};

// all_reduce (ring, double binary tree), all_to_all and send_recv; anything else has been refused
// before. all_to_all exchanges parts of count / ranks elements, rounded down, as nccl-tests does.
std::unique_ptr<Schedule> make_schedule(const ScheduleRequest& request, const Placement& placement);

// Whether input and output may be the same memory.
bool runs_in_place(Collective collective);

}  // namespace gradhaul
