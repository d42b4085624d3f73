#pragma once

// How the ring of a channel runs through the nodes of a cluster: by which GPUs and NICs it enters
// and leaves each, and in which order it visits the GPUs in between (interface.md, section 2).
//
// Channel c belongs to NIC a = c mod NICs. A hop between nodes stays on its rail: it leaves and
// enters by NICs of the same index. How, depends on the GPUs nearest to a, of those taking part:
//
//  - Several: the ring enters by a at one of them and leaves by a from the next of them. Which ones
//    rotates over the NICs that share them and over the rounds of channels, so that of two GPUs
//    each is entered as often as left.
//  - One, `balanced`: the ring enters by a and leaves by a partner b near another GPU, the next
//    node the other way round, and the ring of b's channel has both reversed. Of an even number b
//    is half way round from a, of an odd number it follows a by half way round. An odd number of
//    nodes takes a third rail for the last hop but one, since rails taken in turns don't close: b
//    and it are one and two thirds round from a. All rings run forward through the nodes, so that
//    those of one round are each other's, turned by some GPUs: where nodes are symmetric, one GPU
//    is simulated for all (sim/symmetry.h). The NICs by which the channels of one round make a
//    given hop are a permutation of the NICs, so that each has the same load in each direction.
//  - One, `nccl`: the ring enters by a at that GPU and leaves by a from the last GPU, which with
//    NVLink hands back to a's GPU (Hop::relay_gpu). Balanced falls back to it, with a note.
//
// Where one GPU of a node takes part, it is entered and left by a. Inside a node the order is
// ascending and cyclic from the GPU of entry; without NVLink it changes switch and socket seldom.

#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/pcie_distance.h"

namespace gradhaul {

// What a ring does in one node.
struct NodePassage {
  int node = 0;
  std::vector<int> gpus;  // in ring order
  int leaving_nic = -1;   // of this node and, by the same index, of the next; -1: one node only
  friend bool operator==(const NodePassage&, const NodePassage&) = default;
};

class RingOrders {
 public:
  // GPUs 0 .. gpus - 1 of each of `nodes` nodes take part; `balanced` or else as nccl.
  RingOrders(const Node& node, int nodes, int gpus, bool balanced);

  // The ring of a channel, node after node; the first is node 0.
  std::vector<NodePassage> ring(int channel) const;
  // Why balanced is not what it is asked to be; empty where it is.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  bool crosses_nodes() const { return nodes_ > 1; }
  void pair_rails();
  bool paired(int nic) const { return rail_position_[nic] >= 0; }
  int rail(int position, int hop) const;
  std::vector<int> gpus_between(int entry, int exit) const;
  void bring_neighbours_together(std::vector<int>& order, int exit) const;

  std::vector<NodePassage> within_one_node() const;
  std::vector<NodePassage> through_one_nic(int nic, int entry, int exit) const;
  std::vector<NodePassage> through_partners(int position) const;
  std::vector<NodePassage> shared_nic_ring(int nic, int round) const;
  std::vector<NodePassage> hand_back_ring(int nic) const;

  int nodes_;
  int gpus_;
  int nics_;
  bool nvlink_;
  PcieDistances distances_;
  std::vector<std::vector<int>> nic_gpus_;  // nearest GPUs taking part
  std::vector<int> rails_;          // NICs that have partners, those of one GPU side by side
  std::vector<int> rail_position_;  // of a NIC in rails_, or -1
  std::vector<std::string> notes_;
};

}  // namespace gradhaul
