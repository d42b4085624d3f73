#pragma once

// Where the ranks of a communicator are in the cluster, and by which NICs they reach each other.

#include "core/cluster.h"
#include "core/communication.h"
#include "core/placement.h"

namespace gradhaul {

class Membership {
 public:
  virtual ~Membership() = default;
  // The rank's GPU among all of the cluster: node * node.gpu_count + its number in the node.
  virtual int gpu(Rank rank) const = 0;
  // How a channel goes from one rank to another. Ranks are those of the communicator, NICs and the
  // relaying GPU are numbered as in the node.
  virtual Hop hop(int channel, Rank source, Rank destination) const = 0;
};

// All ranks of a cluster. References outlive it.
class WholeCluster final : public Membership {
 public:
  WholeCluster(const Placement& placement, const Cluster& cluster)
      : placement_(placement), cluster_(cluster) {}
  int gpu(Rank rank) const override { return cluster_.gpu_of(rank); }
  Hop hop(int channel, Rank source, Rank destination) const override {
    return hop_between(placement_, cluster_, channel, source, destination);
  }

 private:
  const Placement& placement_;
  const Cluster& cluster_;
};

}  // namespace gradhaul
