#include "core/packet_loss.h"

#include <algorithm>

#include "core/cluster_parts.h"
#include "core/network_framing.h"
#include "core/pause_headroom.h"

namespace gradhaul {

Bytes needed_headroom(const Network& network) {
  const double metres = std::max(network.node_cable_metres, network.spine_cable_metres);
  return pause_headroom(network.link, largest_packet(network), cable_latency(metres),
                        network.pause.response);
}

bool headroom_is_short(const Network& network) {
  return network.kind == NetworkKind::kRoce && network.pause.on && network.pause.headroom &&
         *network.pause.headroom < needed_headroom(network);
}

bool may_lose_packets(const Cluster& cluster) {
  if (cluster.nodes < 2) return false;
  const Network& network = cluster.network;
  return cluster.faults.lossy() || !cluster.faults.pfc_off.empty() || network.drops() ||
         headroom_is_short(network);
}

bool tells_gaps(const Cluster& cluster) {
  if (cluster.network.tcp) return false;  // sockets put in order what comes early
  return !spreads_packets(cluster) || cluster.node.nic.out_of_order == OutOfOrder::kNak;
}

bool chooses_ways(Routing routing) {
  return routing == Routing::kAdaptive || routing == Routing::kSpray;
}

bool spreads_packets(const Cluster& cluster) {
  const Network& network = cluster.network;
  const Topology& topology = network.topology;
  const bool ring = topology.kind == TopologyKind::kRing;
  return chooses_ways(network.routing) && !ring && topology.leaves > 1 &&
         topology.uplinks_per_leaf > 1;
}

}  // namespace gradhaul
