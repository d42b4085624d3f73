#include "core/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/channel_count.h"
#include "tests/core/sample_nodes.h"

namespace gradhaul {
namespace {

using Ring = std::vector<Rank>;

Communication with(RingOrder order, int channels) {
  Communication communication;
  communication.ring_order = order;
  communication.channels = channels;
  return communication;
}

// NVLink or PCIe sends of one node's GPUs to each other, hand-overs to a relay included, over all
// channels.
std::vector<int> local_sends(const Placement& placement, const Cluster& cluster, int node) {
  std::vector<int> sends(cluster.ranks_per_node, 0);
  for (int channel = 0; channel < placement.channels; ++channel) {
    const Ring& ring = placement.rings[channel];
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Hop hop =
          hop_between(placement, cluster, channel, ring[i], ring[(i + 1) % ring.size()]);
      if (hop.source / placement.ranks_per_node != node) continue;
      if (hop.source_nic < 0 || hop.relay_gpu >= 0) ++sends[hop.source % placement.ranks_per_node];
    }
  }
  return sends;
}

TEST(Placement, AutomaticChannelsOfHgxH100) {
  const Cluster cluster = samples::cluster_of(samples::hgx_h100(), 4);
  const Placement placement = place(cluster, {}, Collective::kAllReduce);
  EXPECT_EQ(placement.channels, 16);
  EXPECT_EQ(placement.rings.size(), 16U);
  EXPECT_EQ(placement.ranks_per_node, 8);
  EXPECT_TRUE(placement.notes.empty());
  EXPECT_EQ(placement.rings[0],
            (Ring{0,  1,  2,  3,  5,  6,  7,  4,  12, 13, 14, 15, 9,  10, 11, 8,
                  16, 17, 18, 19, 21, 22, 23, 20, 28, 29, 30, 31, 25, 26, 27, 24}));
}

// (g - 1) / g of all channels for each GPU: each leaves the node itself in one channel of g.
TEST(Placement, BalancedLoadsNvlinkWithOneLessThanAllGpus) {
  for (const int nodes : {2, 3, 4, 5, 8, 9}) {
    const Cluster cluster = samples::cluster_of(samples::hgx_h100(), nodes);
    const Placement placement =
        place(cluster, with(RingOrder::kBalanced, 16), Collective::kAllReduce);
    for (int node = 0; node < nodes; ++node) {
      EXPECT_EQ(local_sends(placement, cluster, node), std::vector<int>(8, 14));
    }
    for (const auto& crossings : placement.crossings) {
      for (const Hop& hop : crossings) {
        EXPECT_EQ(hop.relay_gpu, -1);
        EXPECT_EQ(hop.source % 8, hop.source_nic);
        EXPECT_EQ(hop.destination % 8, hop.destination_nic);
      }
    }
    EXPECT_TRUE(placement.notes.empty());
  }
}

TEST(Placement, NcclLoadsNvlinkWithAllData) {
  const Cluster cluster = samples::cluster_of(samples::hgx_h100(), 3);
  const Placement placement = place(cluster, with(RingOrder::kNccl, 16), Collective::kAllReduce);
  for (int node = 0; node < 3; ++node) {
    EXPECT_EQ(local_sends(placement, cluster, node), std::vector<int>(8, 16));
  }
  // From GPU 4 of node 0 back to GPU 5, by NIC 5, into GPU 5 of node 1.
  EXPECT_EQ(placement.rings[5].front(), 5);
  EXPECT_EQ(hop_between(placement, cluster, 5, 4, 13), (Hop{4, 13, 5, 5, 5}));
  EXPECT_TRUE(placement.notes.empty());
}

TEST(Placement, WithoutNvlinkTheNicReadsTheLastGpuItself) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 3);
  cluster.node.nvlink.reset();
  const Placement placement = place(cluster, with(RingOrder::kNccl, 8), Collective::kAllReduce);
  for (const auto& crossings : placement.crossings) {
    for (const Hop& hop : crossings) EXPECT_EQ(hop.relay_gpu, -1);
  }
}

TEST(Placement, SharedNicsNeedNoRelay) {
  const Cluster cluster = samples::cluster_of(samples::dgx_a100(), 4);
  for (const RingOrder order : {RingOrder::kBalanced, RingOrder::kNccl}) {
    const Placement placement = place(cluster, with(order, 8), Collective::kAllReduce);
    for (int node = 0; node < 4; ++node) {
      EXPECT_EQ(local_sends(placement, cluster, node), std::vector<int>(8, 7));
    }
    EXPECT_EQ(hop_between(placement, cluster, 2, 3, 10), (Hop{3, 10, 2, 2, -1}));
    EXPECT_EQ(hop_between(placement, cluster, 3, 2, 11), (Hop{2, 11, 3, 3, -1}));
  }
}

TEST(Placement, OneGpuANodeDealsChannelsOverAllNics) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 3);
  cluster.ranks_per_node = 1;
  const Placement placement = place(cluster, with(RingOrder::kBalanced, 8), Collective::kAllReduce);
  for (int channel = 0; channel < 8; ++channel) {
    EXPECT_EQ(placement.rings[channel], (Ring{0, 1, 2}));
    EXPECT_EQ(hop_between(placement, cluster, channel, 2, 0), (Hop{2, 0, channel, channel, -1}));
  }
  EXPECT_TRUE(placement.notes.empty());  // of the rings
  ASSERT_EQ(placement.model_notes.size(), 1U);
  EXPECT_EQ(placement.model_notes[0],
            "the GPUs nearest to 7 of a node's 8 NICs take no part; others use these NICs from "
            "farther away");
}

TEST(Placement, IdealNodesFormOneRing) {
  Cluster cluster;
  cluster.nodes = 4;
  const Placement placement = place(cluster, {}, Collective::kAllReduce);
  EXPECT_EQ(placement.channels, 1);
  EXPECT_EQ(placement.rings[0], (Ring{0, 1, 2, 3}));
  EXPECT_EQ(hop_between(placement, cluster, 0, 3, 0), (Hop{3, 0, 0, 0, -1}));
  EXPECT_TRUE(placement.notes.empty());
}

TEST(Placement, NotesSayWhereChannelsAreUneven) {
  const Cluster cluster = samples::cluster_of(samples::hgx_h100(), 2);
  const Placement placement =
      place(cluster, with(RingOrder::kBalanced, 12), Collective::kAllReduce);
  EXPECT_TRUE(placement.notes.empty());  // of the rings
  ASSERT_EQ(placement.model_notes.size(), 1U);
  EXPECT_EQ(placement.model_notes[0],
            "12 channels are not a multiple of a node's 8 NICs, which are loaded unequally");
  EXPECT_TRUE(place(samples::cluster_of(samples::hgx_h100(), 1), with(RingOrder::kBalanced, 3),
                    Collective::kAllReduce)
                  .model_notes.empty());
}

TEST(Placement, ListedRingsLeaveByTheChannelsNic) {
  const Cluster cluster =
      samples::cluster_of(samples::dealt_node({.gpus = 2, .nics = 2, .switches = 2}), 2);
  Communication communication = with(RingOrder::kListed, 2);
  communication.listed_rings = {{0, 2, 1, 3}};
  const Placement placement = place(cluster, communication, Collective::kAllReduce);
  EXPECT_EQ(placement.rings, (std::vector<Ring>{{0, 2, 1, 3}, {0, 2, 1, 3}}));
  EXPECT_EQ(hop_between(placement, cluster, 0, 0, 2), (Hop{0, 2, 0, 0, -1}));
  EXPECT_EQ(hop_between(placement, cluster, 1, 0, 2), (Hop{0, 2, 1, 1, 1}));
  EXPECT_EQ(hop_between(placement, cluster, 0, 3, 0), (Hop{3, 0, 0, 0, 0}));
  EXPECT_EQ(placement.crossings[0].size(), 4U);
}

TEST(Placement, ARingListedForEachChannelSetsTheirNumber) {
  const Cluster cluster = samples::cluster_of(samples::one_gpu_one_nic(), 3);
  Communication communication;
  communication.ring_order = RingOrder::kListed;
  communication.listed_rings = {{0, 1, 2}, {2, 1, 0}};
  const Placement placement = place(cluster, communication, Collective::kAllReduce);
  EXPECT_EQ(placement.channels, 2);
  EXPECT_EQ(placement.rings, communication.listed_rings);
}

// Chains begin at the GPU of the channel's NIC in every node, so heads meet on that rail,
// unrelayed.
TEST(Placement, TreesStayOnTheChannelsRail) {
  const Cluster cluster = samples::cluster_of(samples::hgx_h100(), 5);
  Communication communication = with(RingOrder::kBalanced, 16);
  communication.algorithm = Algorithm::kDoubleBinaryTree;
  const Placement placement = place(cluster, communication, Collective::kAllReduce);
  for (int channel = 0; channel < 16; ++channel) {
    const Ring& order = placement.rings[channel];
    for (int from = 0; from < 5; ++from) {
      for (int to = 0; to < 5; ++to) {
        if (from == to) continue;
        const Rank source = order[from * 8];
        const Rank destination = order[to * 8];
        EXPECT_EQ(hop_between(placement, cluster, channel, source, destination),
                  (Hop{source, destination, channel % 8, channel % 8, -1}));
      }
    }
  }
  EXPECT_TRUE(placement.notes.empty());
}

TEST(Placement, PairwiseTakesNearestNics) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 2);
  for (const Collective collective : {Collective::kAllToAll, Collective::kSendRecv}) {
    const Placement placement = place(cluster, with(RingOrder::kBalanced, 8), collective);
    EXPECT_EQ(placement.rings[3].front(), 0);
    EXPECT_EQ(hop_between(placement, cluster, 3, 2, 13), (Hop{2, 13, 2, 5, -1}));
    EXPECT_EQ(hop_between(placement, cluster, 3, 2, 10), (Hop{2, 10, 2, 2, -1}));
    EXPECT_EQ(hop_between(placement, cluster, 3, 2, 5), (Hop{2, 5, -1, -1, -1}));
  }
}

TEST(Placement, PairwiseKeepsRails) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 2);
  cluster.network.topology.kind = TopologyKind::kRailOptimized;
  const Placement placement = place(cluster, with(RingOrder::kBalanced, 8), Collective::kAllToAll);
  EXPECT_EQ(hop_between(placement, cluster, 0, 2, 13), (Hop{2, 13, 5, 5, 5}));
  EXPECT_EQ(hop_between(placement, cluster, 0, 2, 10), (Hop{2, 10, 2, 2, -1}));
  cluster.node.nvlink.reset();
  EXPECT_EQ(hop_between(placement, cluster, 0, 2, 13), (Hop{2, 13, 2, 2, -1}));
  cluster.network.topology.spines = 1;
  EXPECT_EQ(hop_between(placement, cluster, 0, 2, 13), (Hop{2, 13, 2, 5, -1}));
  cluster.network.topology.kind = TopologyKind::kBackToBack;
  EXPECT_EQ(hop_between(placement, cluster, 0, 2, 13), (Hop{2, 13, 2, 2, -1}));
}

// GPUs 2 and 3 are equally near NICs 2 and 3: channels take turns; between 2 and 5 nothing is
// shared.
TEST(Placement, PairwiseSpreadsChannelsOverEquallyNearNics) {
  const Cluster cluster = samples::cluster_of(samples::dgx_a100(), 2);
  const Placement placement = place(cluster, with(RingOrder::kBalanced, 8), Collective::kAllToAll);
  std::map<int, int> leaving;
  for (int channel = 0; channel < 8; ++channel) {
    const Hop same_switch = hop_between(placement, cluster, channel, 2, 11);
    EXPECT_EQ(same_switch.source_nic, same_switch.destination_nic);
    ++leaving[same_switch.source_nic];
    const Hop other = hop_between(placement, cluster, channel, 2, 13);
    EXPECT_EQ(other.source_nic / 2, 1);
    EXPECT_EQ(other.destination_nic / 2, 2);
  }
  EXPECT_EQ(leaving, (std::map<int, int>{{2, 4}, {3, 4}}));
}

// GPU 1 is beside NICs 1 and 2: a channel that owns one of them takes that.
TEST(Placement, PairwisePrefersTheChannelsOwnNic) {
  Node node = samples::bare_node(2, 3);
  node.pcie = {
      samples::pcie_switch(0, "socket0", {samples::gpu(0), samples::nic(0)}),
      samples::pcie_switch(1, "socket0", {samples::gpu(1), samples::nic(1), samples::nic(2)})};
  const Cluster cluster = samples::cluster_of(node, 2);
  const Placement placement = place(cluster, with(RingOrder::kBalanced, 6), Collective::kAllToAll);
  std::vector<int> nics;
  for (int channel = 0; channel < 6; ++channel) {
    nics.push_back(hop_between(placement, cluster, channel, 1, 3).source_nic);
  }
  EXPECT_EQ(nics, (std::vector<int>{1, 1, 2, 2, 1, 2}));
}

// GPU 0, straight at the socket, is equally near both NICs; GPU 1 shares NIC 1's switch.
TEST(Placement, PairwiseKeepsToANicIndexNearestAtBothEnds) {
  Node node = samples::bare_node(2, 2);
  node.pcie = {{"", "socket0", PcieLink{5, 16}, {samples::gpu(0), samples::nic(0)}},
               samples::pcie_switch(0, "socket0", {samples::gpu(1), samples::nic(1)})};
  const Cluster cluster = samples::cluster_of(node, 2);
  const Placement placement = place(cluster, with(RingOrder::kBalanced, 2), Collective::kAllToAll);
  for (int channel = 0; channel < 2; ++channel) {
    EXPECT_EQ(hop_between(placement, cluster, channel, 0, 3), (Hop{0, 3, 1, 1, -1}));
    EXPECT_EQ(hop_between(placement, cluster, channel, 0, 2), (Hop{0, 2, channel, channel, -1}));
  }
}

TEST(Placement, PairwiseFarFromTheOnlyNicRelays) {
  const Cluster cluster = samples::cluster_of(samples::one_nic_for_eight_gpus(), 2);
  const Placement placement = place(cluster, with(RingOrder::kBalanced, 1), Collective::kAllToAll);
  EXPECT_EQ(hop_between(placement, cluster, 0, 6, 15), (Hop{6, 15, 0, 0, 0}));
  EXPECT_EQ(hop_between(placement, cluster, 0, 0, 15), (Hop{0, 15, 0, 0, -1}));
}

}  // namespace
}  // namespace gradhaul
