#pragma once

// Which connections a rank needs for a schedule, which lane each belongs to, and where its receive
// slots lie: found once, by walking the schedule's steps.

#include <cstdint>
#include <vector>

#include "core/connection.h"
#include "core/schedule.h"

namespace gradhaul {

struct LaneLayout {
  int channel = 0;
  int number = 0;  // within the channel
  std::int64_t items = 0;
  std::vector<ConnectionId> receives;
  std::vector<ConnectionId> sends;
  int most_receives = 0;  // of one item
};

struct EngineLayout {
  std::vector<LaneLayout> lanes;  // by channel, then number
  std::vector<ConnectionEnd> connections;
  std::vector<int> lane_of_connection;  // index into lanes
  Bytes slots_bytes;
};

EngineLayout lay_out(const Schedule& schedule, Rank rank, int slots, Bytes slot_size);

}  // namespace gradhaul
