#pragma once

// Who waits for whom, in words and counters: what a run that stalled has to say for itself. One
// such table for each rank.

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "core/completion.h"
#include "core/connection.h"
#include "core/lane.h"

namespace gradhaul {

// A lane's way through its items.
struct LaneRow {
  int channel = 0;
  int lane = 0;
  std::int64_t items = 0;
  std::int64_t started = 0;
  std::int64_t sent = 0;
  std::int64_t finished = 0;
  std::string waits_for;
};

struct ConnectionRow {
  ConnectionEnd end;
  // At the sending end.
  std::int64_t posted = 0;
  std::int64_t written = 0;
  std::int64_t credits = 0;
  // At the receiving end.
  std::int64_t arrived = 0;
  std::int64_t started = 0;
  std::int64_t consumed = 0;
  std::int64_t granted = 0;
  std::int64_t credit_writes_in_flight = 0;
};

struct StallTable {
  Rank rank = 0;
  CompletionStatus status = CompletionStatus::kOk;
  std::vector<LaneRow> lanes;
  std::vector<ConnectionRow> connections;
};

StallTable stall_table_of(const EngineState& state, CompletionStatus status);
void print_stall_table(const StallTable& table, std::ostream& out);

}  // namespace gradhaul
