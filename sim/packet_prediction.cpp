#include "sim/packet_prediction.h"

#include <algorithm>

#include "core/placement.h"
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
void check_against_load(const PredictionRequest& request, const Placement& placement,
                        const PacketWorld& world, std::int64_t count) {
  const ResourceLoad load = count_load(request, world.fabric(), placement, count);
  const Duration least = request.cluster.node.gpu.kernel_launch + load.bound();
  GRADHAUL_ASSERT(world.end() >= least.ps, "no run is faster than its busiest resource");
}

void take_row(const PredictionRequest& request, const PacketWorld& world, Bytes size,
              RunDigest& digest, Prediction& prediction) {
  world.check();
  ResultRow row = prediction_row(request, world.channels(), size);
  row.time = {world.end()};
  if (request.communication.sleeps) row.cpu_cores = world.busy_cores();
  for (Rank rank = 0; rank < world.ranks(); ++rank) {
    row.bytes_sent_per_rank = std::max(row.bytes_sent_per_rank, Bytes{world.bytes_sent(rank)});
  }
  prediction.resources = resource_uses(world);
  prediction.counters = port_counters(world);
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

}  // namespace

Prediction predict_packets(const PredictionRequest& request) {
  const RunCostMeter meter;
  Prediction prediction;
  prediction.fidelity = "packet";
  prediction.seed = request.seed;
  const Fabric fabric(request.cluster);
  const Placement placement =
      place(request.cluster, request.communication, request.workload.collective);
  show_placement(placement, prediction);
  const RunWatch watch(request);
  RunDigest digest;
  std::vector<std::string> losses;
  for (std::size_t i = 0; i < request.workload.sizes.size(); ++i) {
    const Bytes size = whole_elements(request, request.workload.sizes[i]);
    const std::int64_t count = size.count / size_of(request.workload.datatype).count;
    PacketWorld world(request, fabric, placement, count);
    bool finished = false;
    try {
      finished =
          run_under_simgrid(world, [&] { return watch.keep_going(i, world.progress(), size); });
    } catch (const TransportFailure& failure) {
      prediction.failure = failure.what();
      world.end_observation();
      break;
    }
    world.end_observation();
    if (!finished) {
      prediction.interrupted = true;
      break;
    }
    check_against_load(request, placement, world, count);
    take_row(request, world, size, digest, prediction);
    losses = loss_notes(world, world.wiring(), world.transport());
  }
  prediction.notes.insert(prediction.notes.end(), losses.begin(), losses.end());
  prediction.digest = digest.value();
  meter.measure(prediction.cost);
  return prediction;
}

}  // namespace gradhaul
