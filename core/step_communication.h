#pragma once

// The communication plan of one of a training step's groups. A scenario has one plan, for all.

#include "core/cluster.h"
#include "core/communication.h"
#include "core/workload.h"

namespace gradhaul {

// The scenario's plan, but: rings that are listed are those of all ranks, so that a smaller group
// makes its own; and an algorithm that the collective does not have, or that is of two levels where
// the group has but one, is a ring. `cluster`: what the group sees (core/projected_cluster.h).
Communication communication_in_group(const Communication& plan, Collective collective,
                                     const Cluster& cluster, int all_ranks);

}  // namespace gradhaul
