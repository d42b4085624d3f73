#include "sim/predict.h"

#include "core/topology_size.h"
#include "sim/analytic_prediction.h"
#include "sim/flow_prediction.h"
#include "sim/job_prediction.h"
#include "sim/packet_prediction.h"

namespace gradhaul {

Prediction predict(const PredictionRequest& request) {
  PredictionRequest sized = request;
  if (request.cluster.nodes > 1) {
    SizedTopology topology = size_topology(request.cluster.network, request.cluster.nodes,
                                           request.cluster.node.nic_count);
    if (!topology.errors.empty()) throw SimulationError(topology.errors.front());
    sized.cluster.network.topology = topology.topology;
  }
  if (!request.jobs.empty() || !request.background.empty()) return predict_jobs(sized);
  switch (request.fidelity) {
    case Fidelity::kPacket:
      break;
    case Fidelity::kFlow:
      return predict_flows(sized);
    case Fidelity::kAnalytic:
      return predict_analytically(sized);
  }
  return predict_packets(sized);
}

}  // namespace gradhaul
