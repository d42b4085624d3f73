// Networks whose leaves are cabled in a ring: what flows over several of its cables get, and that
// buffers which may wait for each other all the way round are refused by name.

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/network_framing.h"
#include "core/topology_size.h"
#include "sim/fabric.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using testing::AllOf;
using testing::HasSubstr;

// So many leaves of one node each, a cable between neighbours as fast as a NIC.
Cluster ring_of(int leaves, NetworkKind kind, RingWay way) {
  Node node = bare_node(1, 5);
  node.pcie.clear();
  Cluster cluster = one_switch(node, leaves, 100_Gbps);
  Network& network = cluster.network;
  network.kind = kind;
  network.mtu = {4096};
  network.switch_buffer = {64'000'000};
  network.pause.xoff = {200'000};
  network.pause.xon = {150'000};
  network.pause.response = 1_us;
  network.topology = {};
  network.topology.kind = TopologyKind::kRing;
  network.topology.switch_ports = 8;
  network.topology.leaves = leaves;
  network.topology.way = way;
  network.topology = size_topology(network, leaves, 1).topology;
  return cluster;
}

// A ring all_gather: each rank sends 4/5 of the size to that which follows it in `order`.
PredictionRequest gathers(const Cluster& cluster, std::vector<Rank> order, Bytes size = 40_MiB) {
  PredictionRequest request = request_for(cluster, size);
  request.workload.collective = Collective::kAllGather;
  request.communication.channels = 1;
  request.communication.slot_size = 128_KiB;
  request.communication.slots = 16;
  if (!order.empty()) {
    request.communication.ring_order = RingOrder::kListed;
    request.communication.listed_rings = {std::move(order)};
  }
  return request;
}

double rate_of_wire(const Cluster& cluster) {
  const double payload = static_cast<double>(cluster.network.mtu.count);
  const double overhead = static_cast<double>(packet_overhead(cluster.network).count);
  return 12.5e3 * payload / (payload + overhead);  // bytes a us
}

std::string refusal(const PredictionRequest& request) {
  try {
    predict(request);
  } catch (const SimulationError& error) {
    return error.what();
  }
  return "";
}

TEST(RingOfLeaves, IsCrossedCableByCable) {
  const Fabric fabric(ring_of(7, NetworkKind::kInfiniband, RingWay::kShortest));
  for (int to = 1; to < 7; ++to) {
    EXPECT_EQ(fabric.wire(0, 0, to, 0).size(), 2U + static_cast<unsigned>(std::min(to, 7 - to)));
  }
  const Route back = fabric.wire(1, 0, 6, 0);
  EXPECT_EQ(fabric.link(back[1].link).name, "leaf0-leaf1.0.back");
  EXPECT_EQ(fabric.link(back[2].link).name, "leaf6-leaf0.0.back");
  const Link& link = fabric.link(back[2].link);
  EXPECT_EQ(fabric.link(fabric.reverse_of(link)).name, "leaf6-leaf0.0.clockwise");
}

// From leaf 0 to 2 and from 1 to 3, over one cable, and all others over cables of their own: a ring
// is as fast as its slowest two, who have half of it each.
TEST(RingOfLeaves, SharesWhatFlowsCrossTogether) {
  for (const NetworkKind kind : {NetworkKind::kInfiniband, NetworkKind::kRoce}) {
    const Cluster cluster = ring_of(5, kind, RingWay::kUpDown);
    constexpr double kSent = 32 << 20;
    const double alone = row_us(predict(gathers(cluster, {})));
    EXPECT_NEAR(alone, kSent / rate_of_wire(cluster), 0.02 * alone);
    PredictionRequest far = gathers(cluster, {0, 2, 1, 3, 4});
    const double shared = row_us(predict(far));
    EXPECT_NEAR(shared, 2 * kSent / rate_of_wire(cluster), 0.03 * shared);
    far.fidelity = Fidelity::kFlow;
    EXPECT_NEAR(row_us(predict(far)), shared, 0.03 * shared);
    far.fidelity = Fidelity::kAnalytic;
    EXPECT_NEAR(row_us(predict(far)), shared, 0.03 * shared);
  }
}

// Three cables in a row are shared, each by two that share no other: what waits in a buffer for the
// next cable holds up who leaves the ring there. And over one cable alone, whoever had to wait has
// its kernel still before it. No fluid knows of either, and the bounds have to.
TEST(RingOfLeaves, HoldsUpWhoseWayIsFree) {
  for (const NetworkKind kind : {NetworkKind::kInfiniband, NetworkKind::kRoce}) {
    for (const std::vector<Rank>& order :
         {std::vector<Rank>{0, 2, 4, 1, 3}, std::vector<Rank>{0, 2, 1, 3, 4}}) {
      Cluster cluster = ring_of(5, kind, RingWay::kUpDown);
      cluster.node.gpu.reduce_bandwidth = 9_GBps;
      PredictionRequest request = gathers(cluster, order, 160_MiB);
      request.communication.slot_size = 512_KiB;
      request.communication.slots = 8;
      const double packets = row_us(predict(request));
      EXPECT_GT(packets, 1.05 * 2 * (128 << 20) / rate_of_wire(cluster));
      for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
        request.fidelity = fidelity;
        const Prediction fluid = predict(request);
        EXPECT_NEAR(row_us(fluid), packets, fluid.error_bound.value().microseconds());
        EXPECT_LT(row_us(fluid), packets);
      }
    }
  }
}

TEST(RingOfLeaves, IsSteppedAlikeByBothEngines) {
  for (const NetworkKind kind : {NetworkKind::kInfiniband, NetworkKind::kRoce}) {
    PredictionRequest request = gathers(ring_of(5, kind, RingWay::kUpDown), {0, 2, 4, 1, 3}, 1_MiB);
    const Prediction first = predict(request);
    request.stepping = Stepping::kEvents;
    EXPECT_EQ(predict(request).digest, first.digest);
    request.skip_recurrences = false;
    EXPECT_EQ(predict(request).digest, first.digest);
  }
}

// Over one cable nobody waits for another; over two from every leaf, all wait for the next: what is
// answered as well as data, which a lane or a priority carries with it.
TEST(RingOfLeaves, IsRefusedWhereBuffersWaitInACircle) {
  constexpr const char* kClockwise =
      "leaf0-leaf1.0.clockwise -> leaf1-leaf2.0.clockwise -> leaf2-leaf3.0.clockwise -> "
      "leaf3-leaf4.0.clockwise -> leaf4-leaf0.0.clockwise -> leaf0-leaf1.0.clockwise";
  constexpr const char* kBack =
      "leaf0-leaf1.0.back -> leaf4-leaf0.0.back -> leaf3-leaf4.0.back -> leaf2-leaf3.0.back -> "
      "leaf1-leaf2.0.back -> leaf0-leaf1.0.back";
  for (const NetworkKind kind : {NetworkKind::kInfiniband, NetworkKind::kRoce}) {
    const Cluster shortest = ring_of(5, kind, RingWay::kShortest);
    EXPECT_EQ(refusal(gathers(shortest, {})), "");
    EXPECT_THAT(refusal(gathers(shortest, {0, 2, 4, 1, 3})),
                AllOf(HasSubstr(kBack), HasSubstr("cluster.network.topology.way: up_down")));
    // Data goes one cable on; what is answered, all the way round.
    EXPECT_THAT(refusal(gathers(ring_of(5, kind, RingWay::kClockwise), {})), HasSubstr(kClockwise));
    // Three are never more than one cable apart.
    EXPECT_EQ(refusal(gathers(ring_of(3, kind, RingWay::kShortest), {})), "");
  }
}

// What drops has nobody wait.
TEST(RingOfLeaves, IsTakenWhereNothingIsLossless) {
  Cluster cluster = ring_of(5, NetworkKind::kRoce, RingWay::kShortest);
  cluster.network.pause.on = false;
  cluster.network.pause.alpha = 1;
  const double lossy = row_us(predict(gathers(cluster, {0, 2, 4, 1, 3})));
  EXPECT_GE(lossy, 2.0 * (32 << 20) / rate_of_wire(cluster));
}

// ECMP deals queue pairs over the cables between two leaves, and packets keep to theirs.
TEST(RingOfLeaves, DealsQueuePairsOverParallelCables) {
  Cluster cluster = ring_of(4, NetworkKind::kRoce, RingWay::kUpDown);
  cluster.network.routing = Routing::kEcmp;
  cluster.network.topology.uplinks_per_leaf = 8;
  const Fabric fabric(cluster);
  std::set<std::string> used;
  for (std::uint16_t port = 50'000; port < 50'064; ++port) {
    const Route route = fabric.wire(0, 0, 1, 0, port);
    ASSERT_EQ(route.size(), 3U);
    used.insert(fabric.link(route[1].link).name);
  }
  EXPECT_EQ(used.size(), 4U);
}

}  // namespace
}  // namespace gradhaul
