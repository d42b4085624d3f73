#include "sim/sized_cluster.h"

#include "core/prediction_request.h"
#include "core/topology_size.h"

namespace gradhaul {

Cluster with_sized_topology(const Cluster& cluster) {
  Cluster sized = cluster;
  if (cluster.nodes > 1) {
    SizedTopology topology = size_topology(cluster.network, cluster.nodes, cluster.node.nic_count);
    if (!topology.errors.empty()) throw SimulationError(topology.errors.front());
    sized.network.topology = topology.topology;
  }
  return sized;
}

}  // namespace gradhaul
