#include "core/stall_table.h"

#include <iomanip>
#include <ostream>
#include <string>

namespace gradhaul {
namespace {

std::string start_waits_for(const EngineState& state, const Lane& lane) {
  if (!lane.start.loaded) return "the start";
  const ItemOperation& item = lane.start.item;
  for (int i = 0; i < item.receive_count; ++i) {
    const ConnectionId id = lane.start.connections[static_cast<std::size_t>(i)];
    if (!state.connection(id).receiving.has_arrival()) {
      return "data from rank " + std::to_string(state.end(id).key.source);
    }
  }
  if (!state.dependency_met(lane, item)) {
    return "item " + std::to_string(item.after->index) + " of lane " +
           std::to_string(item.after->lane);
  }
  return "";
}

std::string waits_for(const EngineState& state, const Lane& lane) {
  if (lane.finish.index == lane.layout.items) return "nothing";
  std::string reasons;
  const auto add = [&](const std::string& reason) {
    if (!reason.empty()) reasons += (reasons.empty() ? "" : "; ") + reason;
  };
  if (lane.start.index < lane.layout.items) add(start_waits_for(state, lane));
  if (!lane.operations.empty()) add("a reduction");
  if (lane.send.loaded) {
    for (int i = 0; i < lane.send.send_count; ++i) {
      if ((lane.posted_sends >> i & 1U) != 0) continue;
      const ConnectionId id = lane.send.connections[static_cast<std::size_t>(i)];
      const SendWindow& window = state.connection(id).sending;
      const std::string peer = std::to_string(state.end(id).key.destination);
      add(window.has_credit() ? "an earlier write to rank " + peer : "a slot of rank " + peer);
    }
  }
  for (const ConnectionId id : lane.layout.sends) {
    if (state.connection(id).sending.in_flight() == 0) continue;
    add("a write to rank " + std::to_string(state.end(id).key.destination));
  }
  return reasons;
}

const char* name_of(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kOk:
      return "ok";
    case CompletionStatus::kFailed:
      return "failed";
    case CompletionStatus::kFlushed:
      return "flushed";
  }
  return "?";
}

void print_lanes(const std::vector<LaneRow>& lanes, std::ostream& out) {
  out << "  channel lane      items    started       sent   finished  waits for\n";
  for (const LaneRow& row : lanes) {
    out << "  " << std::setw(7) << row.channel << std::setw(5) << row.lane << std::setw(11)
        << row.items << std::setw(11) << row.started << std::setw(11) << row.sent << std::setw(11)
        << row.finished << "  " << row.waits_for << '\n';
  }
}

void print_senders(const std::vector<ConnectionRow>& connections, std::ostream& out) {
  out << "  channel    to stream     posted    written    credits\n";
  for (const ConnectionRow& row : connections) {
    if (!row.end.sends) continue;
    out << "  " << std::setw(7) << row.end.key.channel << std::setw(6) << row.end.key.destination
        << std::setw(7) << row.end.key.stream << std::setw(11) << row.posted << std::setw(11)
        << row.written << std::setw(11) << row.credits << '\n';
  }
}

void print_receivers(const std::vector<ConnectionRow>& connections, std::ostream& out) {
  out << "  channel  from stream    arrived    started   consumed    granted  credits on their "
         "way\n";
  for (const ConnectionRow& row : connections) {
    if (row.end.sends) continue;
    out << "  " << std::setw(7) << row.end.key.channel << std::setw(6) << row.end.key.source
        << std::setw(7) << row.end.key.stream << std::setw(11) << row.arrived << std::setw(11)
        << row.started << std::setw(11) << row.consumed << std::setw(11) << row.granted
        << std::setw(22) << row.credit_writes_in_flight << '\n';
  }
}

}  // namespace

StallTable stall_table_of(const EngineState& state, CompletionStatus status) {
  StallTable table{state.rank, status, {}, {}};
  for (const Lane& lane : state.lanes) {
    table.lanes.push_back({lane.layout.channel, lane.layout.number, lane.layout.items,
                           lane.start.index, lane.send.index, lane.finish.index,
                           waits_for(state, lane)});
  }
  for (std::size_t i = 0; i < state.ends.size(); ++i) {
    const SendWindow& sending = state.connections[i].sending;
    const ReceiveWindow& receiving = state.connections[i].receiving;
    table.connections.push_back({state.ends[i], sending.posted(), sending.written(),
                                 sending.credits(), receiving.arrived(), receiving.started(),
                                 receiving.consumed(), receiving.granted(),
                                 receiving.credit_writes_in_flight()});
  }
  return table;
}

void print_stall_table(const StallTable& table, std::ostream& out) {
  out << "rank " << table.rank << ", status " << name_of(table.status) << '\n';
  print_lanes(table.lanes, out);
  print_senders(table.connections, out);
  print_receivers(table.connections, out);
}

}  // namespace gradhaul
