#include "sim/prediction_row.h"

#include "core/asked_row.h"

namespace gradhaul {
Bytes whole_elements(const PredictionRequest& request, Bytes size) {
  const std::int64_t element = size_of(request.workload.datatype).count;
  return {size.count / element * element};
}

void show_placement(const Placement& placement, Prediction& prediction) {
  prediction.channels = placement.channels;
  prediction.rings = placement.rings;
  prediction.notes = all_notes(placement);
}

ResultRow prediction_row(const PredictionRequest& request, int channels, Bytes size) {
  ResultRow row =
      asked_row(request.workload, request.communication, request.cluster.ranks(), channels, size);
  row.held.gpu_sms = channels;
  const Cluster& cluster = request.cluster;
  if (cluster.nodes < 2 || !cluster.node.nic.pcie) return row;
  // A thread that polls keeps its core busy, whatever there is to do.
  row.cpu_cores = request.communication.sleeps ? 0 : cluster.ranks_per_node;
  return row;
}

}  // namespace gradhaul
