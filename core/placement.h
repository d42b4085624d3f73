#pragma once

// Which ranks follow each other in which channel, and by which NICs a hop leaves and enters a node.
// A pure function, used by predict and measure alike, so that both ends of a comparison run the
// same thing. The rules are those of interface.md, section 2 ("Ranks and NICs"); core/ring_order.h
// has those of rings, core/channel_count.h that of `channels: auto`.
//
// By which NICs data crosses from one node to another:
//
//  - Neighbours in a ring that the collective runs: both ends by the NIC that core/ring_order.h
//    gives.
//  - All else that rings and trees may ask, and listed rings, whatever GPUs they join: both ends by
//    the channel's NIC a = c mod NICs.
//  - All other schedules: a NIC nearest to the source and one nearest to the destination; of
//  equally
//    near ones a itself, or where that is not among them the (c mod their number)-th. Where
//    some NIC index is nearest at both ends, such a one at both. Where rails matter
//    (rail_optimized, back_to_back) and there is NVLink, the destination's NIC index at both ends,
//    since over NVLink the source reaches every NIC of its node. Without NVLink, where no spine
//    joins the rails, the source's NIC index at both ends.
//
// Where there is NVLink, a source GPU that is not among the nearest taking part to the NIC by which
// its data leaves hands it to one that is (PXN). At the receiving end, and without NVLink, the NIC
// reaches the GPU's memory itself, or what is staged for it (core/gpudirect.h).

#include <cstdint>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/gpudirect.h"
#include "core/workload.h"

namespace gradhaul {

// How data of one channel goes from one rank to another.
struct Hop {
  Rank source = 0;
  Rank destination = 0;
  // Both -1: within a node, over NVLink where the node has it, else over PCIe.
  int source_nic = -1;
  int destination_nic = -1;
  // The source GPU hands its data over NVLink to this GPU of its node, whose memory the NIC then
  // reads (PXN); -1: the NIC reads the source GPU's own memory.
  int relay_gpu = -1;
  // The sender's data is copied to host memory, where the NIC (or, within a node, the receiver's
  // copy engine) reads it; the receiver's NIC writes to host memory, from where data is copied.
  bool staged_out = false;
  bool staged_in = false;
  friend bool operator==(const Hop&, const Hop&) = default;
};

// By which NICs ranks that are not neighbours in a ring of `crossings` reach each other; see above.
enum class NicRule : std::uint8_t { kOfChannel, kNearestToRanks };

// Comes from place(); plain data so that it can be shown and compared.
struct Placement {
  int channels = 1;
  int ranks_per_node = 1;
  // rings[c]: the ranks of channel c in ring order. Other schedules take their order of ranks
  // within a node and of nodes from it (the tree's chain) or ignore it (pairwise). Unless listed,
  // it begins in node 0 and visits a node's ranks in one go, beginning at the GPU by which the
  // channel enters the node; for a tree, in every node the same one near the channel's NIC.
  std::vector<std::vector<Rank>> rings;
  std::vector<std::string> notes;  // what a user should know of the rings: a fallback taken
  // And of the cluster's GPUs and NICs, which are other ones where ranks are measured: an uneven
  // load, what is staged.
  std::vector<std::string> model_notes;

  // crossings[c]: the hops of rings[c] between nodes, by ascending source; empty where the
  // collective runs no ring.
  std::vector<std::vector<Hop>> crossings;
  NicRule nic_rule = NicRule::kOfChannel;
  // Of a node: the nearest NICs of each GPU, and the nearest GPUs taking part of each NIC.
  std::vector<std::vector<int>> gpu_nics;
  std::vector<std::vector<int>> nic_gpus;
  GpuDirectPairs gpudirect;  // of a node
};

// Requires a checked cluster and communication (scenarios/validation.h): GPUs enough, rings that
// are permutations, one for all channels or one for each. Without `channels`, as many as there are
// listed rings, or else as core/channel_count.h says.
Placement place(const Cluster& cluster, const Communication& communication, Collective collective);

// What a user should know of it where it is predicted.
std::vector<std::string> all_notes(const Placement& placement);

// How channel `channel` goes from `source` to `destination` under this placement of this cluster.
Hop hop_between(const Placement& placement, const Cluster& cluster, int channel, Rank source,
                Rank destination);

// The NICs at the least PCIe distance from a GPU (same switch, same root port, same socket, other
// socket), and the GPUs at the least distance from a NIC; ascending.
std::vector<int> nearest_nics(const Node& node, int gpu);
std::vector<int> nearest_gpus(const Node& node, int nic);

}  // namespace gradhaul
