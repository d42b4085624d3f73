#pragma once

// A communicator whose nodes are alike sees a smaller cluster: as many nodes, and of each the GPUs
// that take part and the NICs nearest to these, renumbered. Whatever places ranks in a cluster
// places them in this one.

#include <optional>
#include <vector>

#include "core/cluster.h"

namespace gradhaul {

struct ProjectedCluster {
  Cluster cluster;         // rank r is on its node r / ranks_per_node
  std::vector<int> nodes;  // the node of the whole cluster that each is
  std::vector<int> gpus;   // likewise, of a node
  std::vector<int> nics;
};

// `gpus`: of each rank, over the cluster. Nothing where ranks are not node after node, or not on
// the same GPUs of each node.
std::optional<ProjectedCluster> project(const Cluster& cluster, const std::vector<int>& gpus);

// The cluster as ranks that are anywhere see it: each in a node of its own.
Cluster with_lone_ranks(Cluster cluster, int ranks);

// The NICs nearest to any of these GPUs of a node, ascending.
std::vector<int> nics_near(const Node& node, const std::vector<int>& gpus);

}  // namespace gradhaul
