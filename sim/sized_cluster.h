#pragma once

// A cluster whose scenario leaves parts of its topology open, with them filled in
// (core/topology_size.h).

#include "core/cluster.h"

namespace gradhaul {

// Throws SimulationError where it cannot be. One node needs none, and stays as it is.
Cluster with_sized_topology(const Cluster& cluster);

}  // namespace gradhaul
