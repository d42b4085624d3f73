#pragma once

// How far a rank's engine is: what a simulator keeps to see what happens between two moments, and
// to tell the engine to have done the same several times more.

#include <cstdint>
#include <vector>

#include "core/lane.h"

namespace gradhaul {

struct LanePlace {
  std::int64_t start = 0;   // the item whose operation is next
  std::int64_t send = 0;    // the item whose sends are next
  std::int64_t finish = 0;  // the first that is not finished
};

struct EngineProgress {
  std::vector<LanePlace> lanes;
  std::vector<Connection> connections;
  Bytes bytes_sent;
  std::int64_t finished_items = 0;
};

std::vector<LanePlace> places_of(const EngineState& state);
// What decides about the future, apart from the place in the schedule: differences of counters.
void append_state(const EngineState& state, std::vector<std::int64_t>& words);
// How many more times, up to `most`, the items ahead ask for what was asked for since `since`, when
// append_state() gave the same.
std::int64_t repetitions(const EngineState& state, const EngineProgress& since, std::int64_t most);
// Moves cursors and counters as if it had happened so often.
void repeat(EngineState& state, const EngineProgress& since, std::int64_t times);

}  // namespace gradhaul
