#include "sim/world_plan.h"

#include "core/engine_layout.h"
#include "core/packet_loss.h"
#include "sim/buffer_cycles.h"
#include "sim/connection_traffic.h"
#include "sim/nic_contexts.h"
#include "sim/receive_wiring.h"

namespace gradhaul {
namespace {

std::vector<ConnectionKey> connection_keys(const WorldPlan& plan) {
  std::vector<ConnectionKey> keys;
  for (Rank rank = 0; rank < plan.schedule->ranks(); ++rank) {
    const EngineLayout layout =
        lay_out(*plan.schedule, rank, plan.settings.slots, plan.settings.slot_size);
    for (const ConnectionEnd& end : layout.connections) {
      if (end.sends) keys.push_back(end.key);
    }
  }
  return keys;
}

// Whether packets may be marked, or ports paused for what others hold of a shared buffer.
bool may_be_disturbed(const Network& network) {
  return network.congestion.dcqcn || network.pause.alpha > 0;
}

WorldPlan plan_for(const PredictionRequest& request, const Fabric& fabric,
                   const Placement& placement, std::int64_t count, Starts starts, bool disturbed) {
  WorldPlan plan;
  plan.schedule = make_schedule(schedule_request(request, count), placement);
  plan.settings.datatype = request.workload.datatype;
  plan.settings.reduction = request.workload.reduction;
  plan.settings.slots = request.communication.slots;
  plan.settings.slot_size = request.communication.slot_size;
  plan.wiring =
      wire_up(fabric, placement, request.communication, request.seed, connection_keys(plan));
  refuse_buffer_cycles(fabric, plan.wiring.flows);
  // Copies of a port that shares its buffer with others are not looked at one by one.
  const bool shares_buffers = disturbed && request.cluster.network.pause.alpha > 0;
  // Draws, and rates that grow with time, do not recur, nor are copies drawn alike.
  const bool draws = (disturbed && request.cluster.network.congestion.dcqcn) ||
                     numbers_packets(request.cluster) || lacks_receives(plan.wiring);
  plan.misses_contexts = may_miss_contexts(plan.wiring, request.cluster);
  // What cores have to do is no part of the state that is compared, nor are they known to take
  // turns alike in all copies.
  const bool tcp = request.cluster.network.tcp.has_value();
  plan.recurs = !draws && !tcp && !plan.misses_contexts && !plan.schedule->crosses_channels();
  const bool even = plan.recurs && !shares_buffers;
  if (request.skip_recurrences && starts == Starts::kTogether && even) {
    plan.symmetry = find_symmetry(fabric, placement, *plan.schedule, plan.wiring);
  }
  for (Rank rank = 0; rank < request.cluster.ranks(); ++rank) {
    if (plan.symmetry.copy(rank) == 0) plan.simulated.push_back(rank);
  }
  if (plan.symmetry.copies().count() > 1) {
    plan.wiring = fold(plan.wiring, plan.symmetry, request.cluster);
  }
  return plan;
}

}  // namespace

WorldPlan plan_world(const PredictionRequest& request, const Fabric& fabric,
                     const Placement& placement, std::int64_t count, Starts starts) {
  const bool disturbed = may_be_disturbed(request.cluster.network);
  if (request.stepping != Stepping::kEvents) {
    WorldPlan plan = plan_for(request, fabric, placement, count, starts, false);
    if (!plan.misses_contexts) plan.stations = plan_stations(request, fabric, plan.wiring);
    if (plan.stations) plan.stations->waits = request.stepping == Stepping::kWaiting;
    if (plan.stations || !disturbed) return plan;
  }
  return plan_for(request, fabric, placement, count, starts, disturbed);
}

}  // namespace gradhaul
