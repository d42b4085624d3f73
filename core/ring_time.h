#pragma once

// The ring of more and more nodes (backends/measure/measure_rings.h).

#include "core/cluster.h"
#include "core/communication.h"
#include "core/quantities.h"
#include "core/workload.h"

namespace gradhaul {

// One of them: of the first nodes of what is there.
struct RingSettings {
  Cluster cluster;
  Communication communication;
  Workload workload;  // of one size
};

}  // namespace gradhaul
