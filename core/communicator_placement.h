#pragma once

// Where the ranks of any ordered set of GPUs follow each other, and by which NICs: what place()
// (core/placement.h) is for all ranks of a cluster.
//
// All ranks of the cluster in their order are placed as if they were all there is. Where each node
// takes part with the same GPUs, node after node, ranks are placed in the cluster that is left of
// it (core/projected_cluster.h), so that channels use the NICs nearest to these GPUs. Anything else
// is placed by one simple rule:
//
//  - Rings go through nodes in order. In a node the ring of channel c begins at the (c mod
//    their number)-th of its GPUs that take part, ascending, and goes on from there cyclically.
//  - Every rank counts as a node of its own where a schedule looks at nodes (trees).
//  - From node to node: by NICs as all_to_all's are found (core/placement.h), a GPU that hands over
//    (PXN) being one of the communicator that is nearer to the NIC.
//  - `channels: auto` counts the NICs nearest to those GPUs, of the node that has most.

#include <memory>

#include "core/cluster.h"
#include "core/membership.h"
#include "core/placement.h"
#include "core/task_graph.h"
#include "core/workload.h"

namespace gradhaul {

struct CommunicatorPlacement {
  Placement placement;  // of ranks counted from 0 within the communicator
  std::unique_ptr<Membership> membership;
};

// The cluster outlives what is returned. Its topology has been sized.
CommunicatorPlacement place_communicator(const Cluster& cluster, const Communicator& communicator,
                                         Collective collective);

}  // namespace gradhaul
