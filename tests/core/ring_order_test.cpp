#include "core/ring_order.h"

#include <gtest/gtest.h>

#include <ostream>

#include "tests/core/sample_nodes.h"

namespace gradhaul {
void PrintTo(const NodePassage& passage, std::ostream* out) {
  *out << "node " << passage.node << ":";
  for (const int gpu : passage.gpus) *out << ' ' << gpu;
  *out << " by nic " << passage.leaving_nic;
}

namespace {

using samples::gpu;
using samples::nic;
using Gpus = std::vector<int>;
using Ring = std::vector<NodePassage>;

Node without_nvlink(Node node) {
  node.nvlink.reset();
  return node;
}

// NIC 0's partner is NIC 4, half way round. Each even node is entered by 0 and left by 4, each odd
// one the other way round; NIC 4's ring is the same one backwards, begun at node 0.
TEST(RingOrder, BalancedPairsRailsOfHgxH100) {
  const RingOrders orders(samples::hgx_h100(), 4, 8, true);
  EXPECT_EQ(orders.ring(0), (Ring{{0, {0, 1, 2, 3, 5, 6, 7, 4}, 4},
                                  {1, {4, 5, 6, 7, 1, 2, 3, 0}, 0},
                                  {2, {0, 1, 2, 3, 5, 6, 7, 4}, 4},
                                  {3, {4, 5, 6, 7, 1, 2, 3, 0}, 0}}));
  EXPECT_EQ(orders.ring(4), (Ring{{0, {4, 5, 6, 7, 1, 2, 3, 0}, 0},
                                  {1, {0, 1, 2, 3, 5, 6, 7, 4}, 4},
                                  {2, {4, 5, 6, 7, 1, 2, 3, 0}, 0},
                                  {3, {0, 1, 2, 3, 5, 6, 7, 4}, 4}}));
  EXPECT_EQ(orders.ring(8), orders.ring(0));
  EXPECT_TRUE(orders.notes().empty());
}

// Three rails close where two in turns do not: 2 and 4 are one and two thirds (8 / 3) round from 0.
TEST(RingOrder, BalancedTakesAThirdRailOverOddNodes) {
  const RingOrders orders(samples::hgx_h100(), 5, 8, true);
  const Ring ring = orders.ring(0);
  std::vector<int> leaving;
  for (const NodePassage& passage : ring) leaving.push_back(passage.leaving_nic);
  EXPECT_EQ(leaving, (std::vector<int>{2, 0, 2, 4, 0}));
  EXPECT_EQ(ring[0].gpus.front(), 0);
  EXPECT_EQ(ring[3].gpus.front(), 2);
  EXPECT_EQ(ring[3].gpus.back(), 4);
  EXPECT_EQ(ring[4].gpus.front(), 4);
  EXPECT_EQ(ring[4].gpus.back(), 0);
  EXPECT_TRUE(orders.notes().empty());
}

TEST(RingOrder, NcclReturnsToTheNicItCameBy) {
  const RingOrders orders(samples::hgx_h100(), 2, 8, false);
  EXPECT_EQ(orders.ring(3),
            (Ring{{0, {3, 4, 5, 6, 7, 0, 1, 2}, 3}, {1, {3, 4, 5, 6, 7, 0, 1, 2}, 3}}));
  EXPECT_TRUE(orders.notes().empty());
}

// NICs 0 and 1 share GPUs 0 and 1: one enters where the other leaves, and the next round swaps.
TEST(RingOrder, SharedNicsEnterAndLeaveByTwoGpus) {
  for (const bool balanced : {true, false}) {
    const RingOrders orders(samples::dgx_a100(), 3, 8, balanced);
    const Gpus from_0_to_1 = {0, 2, 3, 4, 5, 6, 7, 1};
    const Gpus from_1_to_0 = {1, 2, 3, 4, 5, 6, 7, 0};
    EXPECT_EQ(orders.ring(0),
              (Ring{{0, from_0_to_1, 0}, {1, from_0_to_1, 0}, {2, from_0_to_1, 0}}));
    EXPECT_EQ(orders.ring(1),
              (Ring{{0, from_1_to_0, 1}, {1, from_1_to_0, 1}, {2, from_1_to_0, 1}}));
    EXPECT_EQ(orders.ring(8)[0].gpus, from_1_to_0);
    EXPECT_EQ(orders.ring(9)[0].gpus, from_0_to_1);
    EXPECT_EQ(orders.ring(7)[0].gpus.front(), 7);
    EXPECT_EQ(orders.ring(7)[0].gpus.back(), 6);
    EXPECT_TRUE(orders.notes().empty());
  }
}

TEST(RingOrder, OneNicSharedByTwoGpusTakesTurns) {
  const RingOrders orders(samples::two_gpus_share_a_nic(), 2, 8, true);
  EXPECT_EQ(orders.ring(1)[0].gpus, (Gpus{2, 4, 5, 6, 7, 0, 1, 3}));
  EXPECT_EQ(orders.ring(5)[0].gpus, (Gpus{3, 4, 5, 6, 7, 0, 1, 2}));
  EXPECT_TRUE(orders.notes().empty());
}

TEST(RingOrder, OneNicHasNoPartner) {
  const RingOrders orders(samples::one_nic_for_eight_gpus(), 4, 8, true);
  EXPECT_EQ(orders.ring(0)[2], (NodePassage{2, {0, 1, 2, 3, 4, 5, 6, 7}, 0}));
  ASSERT_EQ(orders.notes().size(), 1U);
  EXPECT_EQ(orders.notes()[0],
            "ring_order balanced: NIC 0 of a node has no partner, so its rings run as ring_order "
            "nccl does");
}

TEST(RingOrder, TwoRailsDoNotCloseOverOddNodes) {
  const Node node = samples::dealt_node({.gpus = 4, .nics = 2, .switches = 4});
  EXPECT_TRUE(RingOrders(node, 2, 4, true).notes().empty());
  const RingOrders orders(node, 3, 4, true);
  EXPECT_EQ(orders.ring(1)[0], (NodePassage{0, {1, 2, 3, 0}, 1}));
  ASSERT_EQ(orders.notes().size(), 1U);
  EXPECT_NE(orders.notes()[0].find("2 rails do not close over an odd number of nodes (3)"),
            std::string::npos);
}

TEST(RingOrder, NicsOfOneGpuFindNoPartners) {
  const RingOrders orders(samples::two_nics_behind_one_uplink(), 2, 4, true);
  EXPECT_EQ(orders.ring(1)[0], (NodePassage{0, {0, 1, 2, 3}, 1}));
  ASSERT_EQ(orders.notes().size(), 1U);
  EXPECT_NE(orders.notes()[0].find("2 of 2 NICs are nearest to one GPU"), std::string::npos);
}

// Four NICs for each of two GPUs: every partner is near the other GPU.
TEST(RingOrder, SeveralNicsOfAGpuArePairedWithThoseOfOthers) {
  const Node node = samples::dealt_node({.gpus = 2, .nics = 8, .switches = 2});
  const RingOrders orders(node, 2, 2, true);
  for (int channel = 0; channel < 8; ++channel) {
    const Ring ring = orders.ring(channel);
    EXPECT_EQ(ring[0].gpus, (channel % 2 == 0 ? Gpus{0, 1} : Gpus{1, 0}));
    EXPECT_NE(ring[0].leaving_nic % 2, channel % 2);
    EXPECT_EQ(ring[1].leaving_nic, channel);
  }
  EXPECT_TRUE(orders.notes().empty());
}

TEST(RingOrder, OneGpuOfANodeUsesTheChannelsNicBothWays) {
  const RingOrders orders(samples::hgx_h100(), 3, 1, true);
  EXPECT_EQ(orders.ring(11), (Ring{{0, {0}, 3}, {1, {0}, 3}, {2, {0}, 3}}));
  EXPECT_TRUE(orders.notes().empty());
}

TEST(RingOrder, OneNodeNeedsNoNic) {
  EXPECT_EQ(RingOrders(samples::bare_node(4, 0), 1, 4, true).ring(5),
            (Ring{{0, {0, 1, 2, 3}, -1}}));
  EXPECT_EQ(RingOrders(samples::hgx_h100(), 1, 3, true).ring(2), (Ring{{0, {0, 1, 2}, -1}}));
}

int socket_changes(const Node& node, const Gpus& gpus) {
  const PcieDistances distances(node);
  int changes = 0;
  for (std::size_t i = 1; i < gpus.size(); ++i) {
    if (distances.gpu_to_gpu(gpus[i - 1], gpus[i]) == PcieDistance::kOtherSocket) ++changes;
  }
  return changes;
}

// With partners half way round, on the other socket, one change is the least there can be, even if
// GPUs are numbered alternately over the sockets.
TEST(RingOrder, WithoutNvlinkSocketsAreChangedSeldom) {
  Node alternating = samples::bare_node(8, 8);
  alternating.sockets = 2;
  for (int i = 0; i < 8; ++i) {
    alternating.pcie.push_back(
        samples::pcie_switch(i, i % 2 == 0 ? "socket0" : "socket1", {gpu(i), nic(i)}));
  }
  for (const Node& node : {without_nvlink(samples::hgx_h100()), alternating}) {
    const RingOrders orders(node, 2, 8, true);
    for (int channel = 0; channel < 8; ++channel) {
      const Gpus gpus = orders.ring(channel)[0].gpus;
      const bool same_socket =
          PcieDistances(node).gpu_to_gpu(gpus.front(), gpus.back()) != PcieDistance::kOtherSocket;
      EXPECT_EQ(socket_changes(node, gpus), same_socket ? 2 : 1);
    }
    EXPECT_EQ(socket_changes(node, RingOrders(node, 1, 8, true).ring(0)[0].gpus), 1);
  }
}

// GPUs 0 and 1, 2 and 3, … share a root port; NICs 0 and 1 are beside GPUs 0 and 4. GPU 5 is kept
// for the end, since the ring leaves by its neighbour.
TEST(RingOrder, WithoutNvlinkTheExitsNeighboursComeLast) {
  Node node = samples::bare_node(8, 2);
  node.sockets = 2;
  for (int i = 0; i < 4; ++i) {
    const int left = 2 * i;
    node.pcie.push_back(samples::pcie_switch(i, i < 2 ? "socket0" : "socket1", {gpu(left + 1)}));
    node.pcie.push_back(samples::pcie_switch(i + 4, "sw" + std::to_string(i), {gpu(left)}));
    if (i % 2 == 0) node.pcie.back().devices.push_back(nic(i / 2));
  }
  const RingOrders orders(node, 2, 8, true);
  EXPECT_EQ(orders.ring(0),
            (Ring{{0, {0, 1, 2, 3, 6, 7, 5, 4}, 1}, {1, {4, 5, 6, 7, 2, 3, 1, 0}, 0}}));
}

TEST(RingOrder, WithoutNvlinkTheLastGpuIsNearTheNicThatReadsIt) {
  const Node node = without_nvlink(samples::one_nic_for_eight_gpus());
  const Gpus gpus = RingOrders(node, 2, 8, false).ring(0)[0].gpus;
  EXPECT_EQ(gpus.front(), 0);
  EXPECT_EQ(PcieDistances(node).gpu_to_nic(gpus.back(), 0), PcieDistance::kSameSocket);
}

// NVLink or not, NICs beside some GPU or not: GPUs far from the only NIC are all as near to it.
TEST(RingOrder, NicOnTheOtherSocketRotatesOverAllGpus) {
  const RingOrders orders(samples::nic_on_other_socket(), 2, 4, true);
  EXPECT_EQ(orders.ring(0)[0].gpus, (Gpus{0, 2, 3, 1}));
  EXPECT_EQ(orders.ring(3)[1].gpus, (Gpus{3, 2, 1, 0}));
  EXPECT_TRUE(orders.notes().empty());
}

}  // namespace
}  // namespace gradhaul
