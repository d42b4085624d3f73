#include "sim/packet_prediction.h"

#include <algorithm>

#include "core/placement.h"
#include "sim/credit_watch.h"
#include "sim/prediction_row.h"
#include "sim/rare_losses.h"
#include "sim/resource_load.h"
#include "sim/run_cost.h"
#include "sim/run_watch.h"
#include "sim/simgrid_bridge.h"
#include "sim/world_report.h"

namespace gradhaul {
namespace {

// What the simulation says must not beat what its links, kernels and memories can do, counted
// without it.
void check_against(const ResourceLoad& load, const PredictionRequest& request,
                   const PacketWorld& world) {
  const Duration least = request.cluster.node.gpu.kernel_launch + load.bound();
  GRADHAUL_ASSERT(world.end() >= least.ps, "no run is faster than its busiest resource");
}

void take_row(const PredictionRequest& request, const Placement& placement,
              const PacketWorld& world, Bytes size, RunDigest& digest, Prediction& prediction) {
  const std::int64_t count = size.count / size_of(request.workload.datatype).count;
  const ResourceLoad load = count_load(request, world.fabric(), placement, count);
  check_against(load, request, world);
  world.check();
  ResultRow row = prediction_row(request, world.channels(), size);
  row.time = {world.end()};
  row.held = load.holdings.held(row.channels, size);
  row.setup = load.holdings.setup(size);
  if (request.communication.sleeps) row.cpu_cores = world.busy_cores();
  if (request.cluster.network.tcp) row.cpu_cores = world.tcp_cores();
  for (Rank rank = 0; rank < world.ranks(); ++rank) {
    row.bytes_sent_per_rank = std::max(row.bytes_sent_per_rank, Bytes{world.bytes_sent(rank)});
  }
  prediction.resources = resource_uses(world);
  prediction.counters = port_counters(world);
  row.counted = {1, prediction.counters};
  row.limited_by = limited_by(world, prediction.resources);
  row.parts = time_parts(world);
  prediction.rows.push_back(std::move(row));
  const std::int64_t simulated = world.engine().packet_hops();
  prediction.cost.packets += world.transport().packets();
  prediction.cost.packet_hops += simulated;
  prediction.cost.skipped_packet_hops +=
      (simulated + world.engine().repeated_hops()) * world.copies() - simulated;
  prediction.cost.equal_parts = world.copies();
  digest.add(world.digest());
}

// One row after the other, on one fabric.
class RowSimulation {
 public:
  explicit RowSimulation(const PredictionRequest& request)
      : request_(request),
        fabric_(request.cluster),
        placement_(place(request.cluster, request.communication, request.workload.collective)) {
    show_placement(placement_, prediction_);
  }

  // False: no further row, since it failed or was interrupted.
  bool simulate(std::size_t row, const RunWatch& watch);
  Prediction take() {
    prediction_.notes.insert(prediction_.notes.end(), losses_.begin(), losses_.end());
    prediction_.digest = digest_.value();
    return std::move(prediction_);
  }

 private:
  bool run(std::size_t row, const RunWatch& watch);

  PredictionRequest request_;
  const Fabric fabric_;
  const Placement placement_;
  Prediction prediction_;
  RunDigest digest_;
  std::vector<std::string> losses_;
};

bool RowSimulation::simulate(std::size_t row, const RunWatch& watch) {
  while (true) {
    try {
      return run(row, watch);
    } catch (const EventsNeeded& needed) {
      // Larger messages would only run into it again.
      request_.stepping = needed.waiting_suffices ? Stepping::kWaiting : Stepping::kEvents;
    }
  }
}

bool RowSimulation::run(std::size_t row, const RunWatch& watch) {
  const Bytes size = whole_elements(request_, request_.workload.sizes[row]);
  const std::int64_t count = size.count / size_of(request_.workload.datatype).count;
  PacketWorld world(request_, fabric_, placement_, count);
  try {
    const auto keep_going = [&] { return watch.keep_going(row, world.progress(), size); };
    prediction_.interrupted = !run_under_simgrid(world, keep_going);
  } catch (const TransportFailure& failure) {
    prediction_.failure = failure.what();
  }
  world.end_observation();
  if (prediction_.interrupted || !prediction_.failure.empty()) return false;
  take_row(request_, placement_, world, size, digest_, prediction_);
  losses_ = loss_notes(world, world.wiring(), world.transport());
  return true;
}

}  // namespace

Prediction predict_packets(const PredictionRequest& request) {
  const RunCostMeter meter;
  RowSimulation rows(request);
  const RunWatch watch(request);
  for (std::size_t row = 0; row < request.workload.sizes.size(); ++row) {
    if (!rows.simulate(row, watch)) break;
  }
  Prediction prediction = rows.take();
  prediction.fidelity = "packet";
  prediction.seed = request.seed;
  meter.measure(prediction.cost);
  return prediction;
}

}  // namespace gradhaul
