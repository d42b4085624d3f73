#pragma once

// Which ranks follow each other in which channel, and by which NICs a hop leaves and enters a node.
// A pure function, used by predict and measure alike, so that both ends of a comparison run the same
// thing. The rules are those of interface.md, section 2 ("Ranks and NICs").

#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
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
};

struct Placement {
  int channels = 1;
  int ranks_per_node = 1;
  // rings[c]: the ranks of channel c in ring order. Other schedules take their order of ranks within
  // a node and of nodes from it (the tree's chain) or ignore it (pairwise).
  std::vector<std::vector<Rank>> rings;
  std::vector<std::string> notes;  // what a user should know: a fallback taken, an uneven load
};

// Requires a checked cluster and communication (scenarios/validation.h): GPUs enough, rings that are
// permutations.
Placement place(const Cluster& cluster, const Communication& communication, Collective collective);

// How channel `channel` goes from `source` to `destination` under this placement.
Hop hop_between(const Placement& placement, const Cluster& cluster, int channel, Rank source,
                Rank destination);

// The NICs at the least PCIe distance from a GPU (same switch, same root port, same socket, other
// socket), and the GPUs at the least distance from a NIC; ascending.
std::vector<int> nearest_nics(const Node& node, int gpu);
std::vector<int> nearest_gpus(const Node& node, int nic);

}  // namespace gradhaul
