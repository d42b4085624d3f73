// Communicators of some GPUs: who follows whom, by which NICs.

#include "core/communicator_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/job.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;

// Eight GPUs and NICs a node, a pair below each PCIe switch, NVLink; one switch joins all.
Cluster eight_pairs(int nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.node.gpu_count = cluster.node.nic_count = 8;
  cluster.node.nvlink = Nvlink{{1'000'000'000'000}, 1, {}};
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    cluster.node.pcie.push_back(
        {"sw" + n, i < 4 ? "socket0" : "socket1", std::nullopt, {"gpu" + n, "nic" + n}});
  }
  cluster.node.sockets = 2;
  cluster.ranks_per_node = 8;
  cluster.network.topology.leaves = 1;
  return cluster;
}

Communicator communicator_of(std::vector<int> gpus) { return {"", std::move(gpus), {}}; }

bool is_permutation_of_ranks(std::vector<Rank> ring, std::size_t ranks) {
  std::vector<Rank> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  std::sort(ring.begin(), ring.end());
  return ring == all;
}

// All ranks of a cluster are placed as ever.
TEST(CommunicatorPlacement, OfAllRanksIsThatOfTheCluster) {
  const Cluster cluster = eight_pairs(2);
  std::vector<int> all(16);
  std::iota(all.begin(), all.end(), 0);
  const CommunicatorPlacement placed =
      place_communicator(cluster, communicator_of(all), Collective::kAllReduce);
  const Placement whole = place(cluster, {}, Collective::kAllReduce);
  EXPECT_EQ(placed.placement.rings, whole.rings);
  for (int channel = 0; channel < whole.channels; ++channel) {
    EXPECT_EQ(placed.membership->hop(channel, 3, 9), hop_between(whole, cluster, channel, 3, 9));
  }
}

// The same GPU of each node, as data parallel groups have it beside tensor parallel ones: all
// channels go by that GPU's own NIC.
TEST(CommunicatorPlacement, OneGpuOfEachNodeUsesItsOwnNic) {
  const Cluster cluster = eight_pairs(4);
  const CommunicatorPlacement placed =
      place_communicator(cluster, communicator_of({5, 13, 21, 29}), Collective::kAllReduce);
  EXPECT_EQ(placed.placement.ranks_per_node, 1);
  for (int channel = 0; channel < placed.placement.channels; ++channel) {
    EXPECT_TRUE(is_permutation_of_ranks(placed.placement.rings[channel], 4));
    for (Rank rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(placed.membership->gpu(rank), 8 * rank + 5);
      const Hop hop = placed.membership->hop(channel, rank, (rank + 1) % 4);
      EXPECT_EQ(hop, (Hop{rank, (rank + 1) % 4, 5, 5, -1}));
    }
  }
}

// Half of each node: its four NICs, each channel by its own, and no other.
TEST(CommunicatorPlacement, HalfOfEachNodeUsesTheNicsBesideIt) {
  const Cluster cluster = eight_pairs(2);
  const CommunicatorPlacement placed = place_communicator(
      cluster, communicator_of({4, 5, 6, 7, 12, 13, 14, 15}), Collective::kAllReduce);
  EXPECT_EQ(placed.placement.ranks_per_node, 4);
  std::set<int> used;
  for (int channel = 0; channel < placed.placement.channels; ++channel) {
    const std::vector<Rank>& ring = placed.placement.rings[channel];
    ASSERT_TRUE(is_permutation_of_ranks(ring, 8));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Hop hop = placed.membership->hop(channel, ring[i], ring[(i + 1) % ring.size()]);
      if (hop.source_nic < 0) continue;
      EXPECT_EQ(hop.source_nic, hop.destination_nic);
      used.insert(hop.source_nic);
    }
  }
  EXPECT_THAT(used, ElementsAre(4, 5, 6, 7));
}

// Within one node nothing goes by a NIC.
TEST(CommunicatorPlacement, WithinANodeThereAreNoNics) {
  const Cluster cluster = eight_pairs(2);
  const CommunicatorPlacement placed =
      place_communicator(cluster, communicator_of({8, 9, 10, 11}), Collective::kAllReduce);
  for (int channel = 0; channel < placed.placement.channels; ++channel) {
    EXPECT_EQ(placed.membership->hop(channel, 0, 3).source_nic, -1);
  }
}

// Three of one node and one of another: rings pass each node in one go, and hops go by NICs
// nearest to their ends.
TEST(CommunicatorPlacement, ScatteredRanksUseNearestNics) {
  const Cluster cluster = eight_pairs(3);
  const std::vector<int> gpus{17, 2, 0, 6};
  const CommunicatorPlacement placed =
      place_communicator(cluster, communicator_of(gpus), Collective::kAllReduce);
  ASSERT_GE(placed.placement.channels, 3);
  EXPECT_THAT(placed.placement.rings[0], ElementsAre(2, 1, 3, 0));
  EXPECT_THAT(placed.placement.rings[1], ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(placed.placement.rings[2], ElementsAre(3, 2, 1, 0));
  EXPECT_EQ(placed.membership->hop(0, 3, 0), (Hop{3, 0, 6, 1, -1}));
  EXPECT_EQ(placed.membership->hop(0, 0, 2), (Hop{0, 2, 1, 0, -1}));
  EXPECT_EQ(placed.membership->hop(0, 1, 3), (Hop{1, 3, -1, -1, -1}));
}

// Where rails do not meet, the GPU beside the destination's rail hands over, if it is one of the
// communicator; else the NIC reads from afar.
TEST(CommunicatorPlacement, ScatteredRanksKeepToRails) {
  Cluster cluster = eight_pairs(2);
  cluster.network.topology.kind = TopologyKind::kRailOptimized;
  cluster.network.topology.leaves = 8;
  const CommunicatorPlacement placed =
      place_communicator(cluster, communicator_of({1, 4, 12}), Collective::kAllReduce);
  EXPECT_EQ(placed.membership->hop(0, 0, 2), (Hop{0, 2, 4, 4, 4}));
  EXPECT_EQ(placed.membership->hop(0, 2, 0), (Hop{2, 0, 1, 1, -1}));
}

TEST(PlaceJobs, PackedJobsTakeTheFirstThatAreFree) {
  const auto placed = place_jobs(eight_pairs(2),
                                 {{JobPlacement::kPacked, 3, {}},
                                  {JobPlacement::kListed, 2, {1, 9}},
                                  {JobPlacement::kPacked, 2, {}}},
                                 1);
  EXPECT_THAT(placed[0], ElementsAre(0, 2, 3));
  EXPECT_THAT(placed[1], ElementsAre(1, 9));
  EXPECT_THAT(placed[2], ElementsAre(4, 5));
}

// By seed, each GPU once; another seed, another choice.
TEST(PlaceJobs, ScatteredJobsAreDrawn) {
  const Cluster cluster = eight_pairs(8);
  const std::vector<JobPlacementRequest> requests(4, {JobPlacement::kScattered, 16, {}});
  const auto placed = place_jobs(cluster, requests, 1);
  std::vector<int> all;
  for (const std::vector<int>& gpus : placed) {
    EXPECT_TRUE(std::is_sorted(gpus.begin(), gpus.end()));
    all.insert(all.end(), gpus.begin(), gpus.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 64U);
  for (int gpu = 0; gpu < 64; ++gpu) EXPECT_EQ(all[static_cast<std::size_t>(gpu)], gpu);
  EXPECT_EQ(placed, place_jobs(cluster, requests, 1));
  EXPECT_NE(placed, place_jobs(cluster, requests, 2));
}

// Sixteen nodes below four leaves: one of each, and then again.
TEST(PlaceJobs, OnePerLeafTakesLeavesInTurns) {
  Cluster cluster = eight_pairs(16);
  cluster.node.gpu_count = cluster.node.nic_count = cluster.ranks_per_node = 1;
  cluster.node.pcie.resize(1);
  cluster.network.topology.kind = TopologyKind::kLeafSpine;
  cluster.network.topology.leaves = 4;
  cluster.network.topology.spines = 1;
  const auto placed = place_jobs(
      cluster, {{JobPlacement::kOnePerLeaf, 4, {}}, {JobPlacement::kOnePerLeaf, 6, {}}}, 1);
  EXPECT_THAT(placed[0], ElementsAre(0, 4, 8, 12));
  EXPECT_THAT(placed[1], ElementsAre(1, 2, 5, 6, 9, 13));
}

}  // namespace
}  // namespace gradhaul
