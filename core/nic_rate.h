#pragma once

#include <algorithm>

#include "core/cluster.h"

namespace gradhaul {

// What the wires of a NIC carry, each way: of its one port, or of the two that are bonded.
inline BitRate nic_rate(const Cluster& cluster) {
  const BitRate port = std::min(cluster.node.nic.rate, cluster.network.link);
  if (!cluster.node.bonded_nics || port.unlimited()) return port;
  return {port.bits_per_second * 2};
}

}  // namespace gradhaul
