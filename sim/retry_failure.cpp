#include "sim/retry_failure.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace gradhaul {
namespace {

// Of the lane that the connection belongs to: the step that is not finished.
void add_step(const RetriesExceeded& gave_up, const Schedule& schedule,
              const CollectiveEngine& engine, std::ostream& text) {
  const EngineState& state = engine.state();
  const ConnectionKey& key = gave_up.connection;
  for (std::size_t i = 0; i < state.ends.size(); ++i) {
    if (state.ends[i].key != key || state.ends[i].sends == gave_up.credit) continue;
    const Lane& lane = state.lanes[static_cast<std::size_t>(state.connections[i].lane)];
    const Rank rank = sender_of(gave_up);
    const std::int64_t of_step = schedule.slices_per_step(key.channel) *
                                 schedule.items_per_slice(rank, key.channel, lane.layout.number);
    const std::int64_t items = schedule.items(rank, key.channel, lane.layout.number);
    text << ", step " << std::min(lane.finish.index, items - 1) / of_step + 1 << " of "
         << (items + of_step - 1) / of_step;
    return;
  }
}

}  // namespace

std::string retry_failure(const RetriesExceeded& gave_up, const Fabric& fabric,
                          const Schedule* schedule, const CollectiveEngine* engine) {
  const ConnectionKey& key = gave_up.connection;
  const Rank from = sender_of(gave_up);
  const Rank to = gave_up.credit ? key.source : key.destination;
  const bool seconds = gave_up.patience >= 1'000'000'000'000;
  std::ostringstream text;
  text << std::setprecision(3) << (gave_up.not_ready ? "RNR" : "transport")
       << " retry counter exceeded: queue pair " << gave_up.queue_pair << " of channel "
       << key.channel << (gave_up.credit ? ", which returns slots," : "") << " from rank " << from
       << " (" << gave_up.sender << ") to rank " << to << " (" << gave_up.receiver << ")";
  if (engine != nullptr) add_step(gave_up, *schedule, *engine, text);
  text << ": sent " << gave_up.retry + 1
       << (gave_up.not_ready
               ? " times in a row when the receiver had posted no receive, waiting in between for "
               : " times without any progress, each time waiting for an acknowledgement for ")
       << static_cast<double>(gave_up.patience) * (seconds ? 1e-12 : 1e-9)
       << (seconds ? " s" : " ms")
       << (gave_up.not_ready ? " (communication.rnr_timer and communication.rnr_retry)"
                             : " (communication.timeout and communication.retry)");
  if (gave_up.not_ready) return text.str();
  if (gave_up.lost_on != kNoLink) {
    const Link& link = fabric.link(gave_up.lost_on);
    text << "; the last packet was lost on "
         << fabric.resources()[static_cast<std::size_t>(link.resource)].name << ", sent by port "
         << link.port;
  }
  return text.str();
}

}  // namespace gradhaul
