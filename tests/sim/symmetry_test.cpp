// Parts of a cluster that see the same are simulated once, and the answer is the one that
// simulating all of them gives, to the last number.

#include "sim/symmetry.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/topology_size.h"
#include "tests/sim/random_nodes.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// A message of which every chunk is as long: `elements` for each rank and channel.
PredictionRequest even_request(const Cluster& cluster, int channels, std::int64_t elements) {
  PredictionRequest request =
      request_for(cluster, {2 * elements * channels * std::int64_t{cluster.ranks()}});
  request.communication.channels = channels;
  request.communication.slot_size = 64_KiB;
  return request;
}

// Of how many equal parts one was simulated; and that it makes no difference.
int equal_parts(const PredictionRequest& request) {
  const Prediction folded = predict(request);
  expect_same(folded, in_full(request));
  return folded.cost.equal_parts;
}

Cluster rails(const Node& node, int nodes) {
  Cluster cluster = one_switch(node, nodes, 400_Gbps);
  cluster.network.topology = {};
  cluster.network.topology.kind = TopologyKind::kRailOptimized;
  cluster.network.topology.switch_ports = 64;
  cluster.network.topology =
      size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
  return cluster;
}

// One GPU and one NIC each below one switch: any server can stand for all.
TEST(Symmetry, ServersInARing) {
  Node node = bare_node(1, 5);
  give_latencies(node);
  for (const int nodes : {2, 3, 4, 8, 12}) {
    EXPECT_EQ(equal_parts(even_request(one_switch(node, nodes, 400_Gbps), 2, 50'000)), nodes);
  }
  EXPECT_EQ(equal_parts(even_request(ideal_cluster(7), 3, 10'000)), 7);
}

// The rings of one round are each other's, turned by some GPUs: any GPU can stand for all. Over an
// odd number of nodes those of `balanced` take a third rail between two of them.
TEST(Symmetry, NodesAndGpusOfRings) {
  PredictionRequest request = even_request(rails(hgx_h100(), 4), 16, 20'000);
  request.communication.ring_order = RingOrder::kNccl;
  EXPECT_EQ(equal_parts(request), 4 * 8);
  request.communication.ring_order = RingOrder::kBalanced;
  EXPECT_EQ(equal_parts(request), 4 * 8);
  EXPECT_EQ(equal_parts(even_request(rails(hgx_h100(), 3), 16, 20'000)), 8);
}

// Where a GPU writes to its peers through PCIe, which of its channels comes first in an instant is
// settled by their places in the rings, so that it is the same for all.
TEST(Symmetry, GpusThatWriteThroughPcie) {
  Node node = bare_node(4, 5);
  give_latencies(node);
  node.pcie_settings.posted_header_credits = 5;
  node.pcie_settings.credit_loop = 603_ns;
  PredictionRequest request = even_request(rails(node, 6), 4, 6'864);
  request.communication.slots = 2;
  EXPECT_EQ(equal_parts(request), 6 * 4);
}

// Credits take their time back from a root complex too, however long that takes to pass data on.
TEST(Symmetry, ThroughRootComplexes) {
  Node node = hgx_h100();
  node.root_complex.latency = 300_ns;
  node.host_memory_bandwidth = 250_GBps;
  for (const bool staged : {false, true}) {
    PredictionRequest request = even_request(rails(node, 4), 8, 10'000);
    if (staged) {
      request.communication.gpudirect = GpuDirect::kOff;
    } else {
      request.cluster.node.pcie_settings.acs = true;
    }
    EXPECT_EQ(equal_parts(request), staged ? 8 : 32);
  }
}

TEST(Symmetry, GpusOfOneNode) {
  EXPECT_EQ(equal_parts(even_request(one_switch(hgx_h100(), 1, 400_Gbps), 8, 20'000)), 8);
}

TEST(Symmetry, OneNicForAllGpus) {
  Node node = hgx_h100();
  node.nic_count = 1;
  for (std::size_t i = 1; i < 8; ++i) node.pcie[i].devices.pop_back();
  EXPECT_EQ(equal_parts(even_request(one_switch(node, 4, 400_Gbps), 2, 20'000)), 4);
}

TEST(Symmetry, PairsOfAnAllToAll) {
  PredictionRequest request = even_request(one_switch(dgx_a100(), 3, 200_Gbps), 2, 3'000);
  request.workload.collective = Collective::kAllToAll;
  request.communication.algorithm = Algorithm::kPairwise;
  EXPECT_EQ(equal_parts(request), 3);
}

// Nodes of different leaves are not neighbours in the same way: only leaves as wholes turn.
TEST(Symmetry, LeavesOfATree) {
  Node node = bare_node(1, 5);
  give_latencies(node);
  Cluster cluster = one_switch(node, 8, 400_Gbps);
  cluster.network.topology = {};
  cluster.network.topology.kind = TopologyKind::kLeafSpine;
  cluster.network.topology.switch_ports = 4;
  cluster.network.topology = size_topology(cluster.network, 8, 1).topology;
  ASSERT_EQ(cluster.network.topology.leaves, 4);
  const int parts = equal_parts(even_request(cluster, 1, 50'000));
  EXPECT_TRUE(parts == 1 || parts == 2 || parts == 4) << parts;
}

// What is not the same for all is simulated for all.
TEST(Symmetry, NoneWhereRanksDiffer) {
  Node node = bare_node(1, 5);
  give_latencies(node);
  const Cluster cluster = one_switch(node, 4, 400_Gbps);
  PredictionRequest request = even_request(cluster, 1, 50'000);
  request.workload.sizes[0].count += 2;  // one chunk is an element longer
  EXPECT_EQ(equal_parts(request), 1);
  request = even_request(cluster, 1, 50'000);
  request.communication.algorithm = Algorithm::kDoubleBinaryTree;
  EXPECT_EQ(equal_parts(request), 1);
  // Node 2 comes before node 1.
  request = even_request(cluster, 1, 50'000);
  request.communication.ring_order = RingOrder::kListed;
  request.communication.listed_rings = {{0, 2, 1, 3}};
  EXPECT_EQ(equal_parts(request), 1);
}

// Slots that come back in the instant in which they are given: whoever gets one and ends something
// itself does both in the same order everywhere.
TEST(Symmetry, SlotsThatTakeNoTime) {
  PredictionRequest request = even_request(ideal_cluster(8), 1, 40'000);
  request.communication.slots = 1;
  EXPECT_EQ(equal_parts(request), 8);
  Node node = hgx_h100();
  node.nvlink->latency = {};
  request = even_request(one_switch(node, 1, 400_Gbps), 1, 36);
  request.communication.slots = 1;
  EXPECT_EQ(equal_parts(request), 8);
}

// A node without PCIe, credits that come back as they are given: where something takes no time,
// what comes first within an instant is not the same for all.
TEST(Symmetry, NoneWhereCreditsTakeNoTime) {
  Cluster cluster = one_switch(bare_node(1, 5), 3, 400_Gbps);
  cluster.network.credit_return = {};
  cluster.network.node_cable_metres = 0;
  EXPECT_EQ(equal_parts(even_request(cluster, 1, 20'000)), 1);
}

PredictionRequest random_even_request(std::uint64_t seed) {
  Draws draws(seed);
  const auto pairs = static_cast<int>(draws.between(1, 4));
  Node node = draws.below(3) == 0 ? random_node(draws) : bare_node(pairs, 5);
  if (draws.below(2) == 0) draw_rates(node, draws);
  if (draws.below(4) > 0) give_latencies(node);
  node.pcie_settings.tags = static_cast<int>(draws.between(1, 64));
  node.pcie_settings.posted_header_credits = static_cast<int>(draws.between(1, 80));
  node.pcie_settings.credit_loop = {draws.between(250, 900) * 1000};
  node.gpu.reduce_bandwidth = BitRate{draws.between(20, 60) * 8'000'000'000};
  const auto nodes = static_cast<int>(draws.between(2, 6));
  const BitRate link{draws.between(20, 500) * 1'000'000'000};
  Cluster cluster = draws.below(3) == 0 ? rails(node, nodes) : one_switch(node, nodes, link);
  if (draws.below(5) == 0) {
    cluster.network.kind = NetworkKind::kIdeal;  // credits take no time
    cluster.network.node_cable_metres = 0;
  }
  if (cluster.node.nvlink && draws.below(4) == 0) cluster.node.nvlink->latency = {};
  cluster.network.mtu = {1024 << draws.below(3)};
  cluster.network.vl_buffer = {draws.between(8, 64) * 1024};
  PredictionRequest request =
      even_request(cluster, static_cast<int>(draws.between(1, 8)), draws.between(1, 9'000));
  if (draws.below(2) == 0) request.communication.ring_order = RingOrder::kNccl;
  if (draws.below(4) == 0) {
    request.workload.collective = Collective::kAllToAll;
    request.communication.algorithm = Algorithm::kPairwise;
  }
  request.communication.slots = static_cast<int>(draws.between(1, 8));
  request.communication.slot_size = {1024 << draws.below(6)};
  request.communication.queue_pairs = static_cast<int>(draws.between(1, 3));
  if (draws.below(3) == 0) {
    make_roce(request.cluster, draws);
    request.cluster.network.pause.alpha = 0;
  }
  return request;
}

class RandomEvenWorld : public testing::TestWithParam<int> {};

TEST_P(RandomEvenWorld, IsTheSameWhenOnePartStandsForAll) {
  int folded = 0;
  for (int i = 0; i < 10; ++i) {
    const auto seed = static_cast<std::uint64_t>(10 * GetParam() + i);
    SCOPED_TRACE(testing::Message() << "world " << seed);
    try {
      if (equal_parts(random_even_request(seed)) > 1) ++folded;
    } catch (const SimulationError&) {
      continue;  // ranks that do not reach each other
    }
  }
  EXPECT_GE(folded, 3) << "worlds are simulated in part where they can be";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEvenWorld, testing::Range(0, 12));

}  // namespace
}  // namespace gradhaul
