#include "scenarios/pairs_command.h"

#include <algorithm>

#include "analysis/pair_matrix.h"
#include "core/gpudirect.h"
#include "core/ladder.h"
#include "core/topology_size.h"
#include "scenarios/exit_status.h"
#include "scenarios/rank_memory_command.h"
#include "scenarios/result_files_command.h"
#include "sim/pair_write.h"
#include "sim/sized_cluster.h"

namespace gradhaul {
namespace {

void predict_pairs(const Cluster& cluster, const Communication& communication, PairMatrix& matrix) {
  const Fabric fabric(cluster);
  const GpuDirectPairs gpudirect(cluster.node, communication.gpudirect);
  for (const PairTime& time : matrix.times) {
    PairWrite pair;
    pair.hop = {.source = time.from * cluster.ranks_per_node,
                .destination = time.to * cluster.ranks_per_node,
                .source_nic = time.nic,
                .destination_nic = time.nic};
    pair.size = matrix.settings.size;
    pair.slice = std::min(pair.size, communication.slot_size);
    pair.slots = matrix.settings.slots;
    pair.blue_flame = communication.blue_flame;
    // By that NIC from the first GPU itself: no backend has another GPU hand it on.
    pair.hop.staged_out = !gpudirect.of(0, time.nic).reads;
    pair.hop.staged_in = !gpudirect.of(0, time.nic).writes;
    pair.host_memory = !matrix.settings.gpu_memory;
    matrix.predicted.push_back(pair_write_time(fabric, cluster.ranks_per_node, pair));
  }
}

void find_leaves(const Cluster& cluster, PairMatrix& matrix) {
  const Topology& topology = cluster.network.topology;
  if (topology.leaves < 2) return;
  for (int nic = 0; nic < matrix.settings.nics; ++nic) {
    std::vector<int>& of_nic = matrix.leaves.emplace_back();
    for (int node = 0; node < cluster.nodes; ++node) {
      of_nic.push_back(leaf_of(topology, cluster.nodes, cluster.node.nic_count, node, nic));
    }
  }
}

}  // namespace

PairSettings pair_settings(const MeasurePlan& plan, const MeasureOptions& options) {
  const Scenario& scenario = plan.scenario;
  const Cluster& cluster = scenario.cluster;
  if (cluster.nodes < 2) {
    refuse(scenario.file, "--pairs: the scenario has one node, and pairs are of nodes");
  }
  const Placement placement = place(cluster, scenario.communication, scenario.workload.collective);
  PairSettings settings;
  // NCCL's profiles leave slots to the protocol that they choose; that is not used here.
  if (scenario.communication.slots > 0) settings.slots = scenario.communication.slots;
  settings.gpu_memory = in_gpu_memory(options);
  if (options.backend == "verbs")
    settings.nics = std::min(cluster.node.nic_count, placement.channels);
  settings.size = carried_by_nic(cluster, placement, scenario.workload.collective,
                                 scenario.communication.algorithm, scenario.workload.sizes.back())
                      .step();
  return settings;
}

PairMatrix predicted_pairs(const MeasurePlan& plan, const PairSettings& settings,
                           const std::vector<PairTime>& times, const std::string& backend) {
  PairMatrix matrix;
  matrix.scenario = plan.scenario.name;
  matrix.backend = backend;
  matrix.nodes = plan.scenario.cluster.nodes;
  matrix.settings = settings;
  matrix.times = times;
  const Cluster cluster = with_sized_topology(plan.scenario.cluster);
  predict_pairs(cluster, plan.scenario.communication, matrix);
  find_leaves(cluster, matrix);
  return matrix;
}

int tell_pairs(const MeasurePlan& plan, const PairSettings& settings, const std::string& json,
               const std::vector<PairTime>& times, const Measurement& measurement,
               const CommandContext& context) {
  PairMatrix matrix = predicted_pairs(plan, settings, times, measurement.backend);
  matrix.notes = measurement.notes;
  const bool printed = print(pair_matrix_text(matrix, context.version));
  if (!printed) complain("standard output could not be written");
  const auto text = [&] { return pair_matrix_json(matrix, context.version); };
  if (!write_texts({json, ""}, text, text) || !printed) return kRunFailed;
  return suspects_of(matrix).empty() ? kDone : kOutsideExpectation;
}

}  // namespace gradhaul
