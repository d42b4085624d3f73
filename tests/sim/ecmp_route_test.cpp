// What ECMP makes of flows between two leaves: where l of them share a cable, each gets 1/l of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "core/topology_size.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/incast.h"
#include "tests/sim/random_nodes.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Two leaves of `per_leaf` nodes, as many uplinks.
Cluster two_leaves(int per_leaf, Routing routing) {
  Node node = bare_node(1, 5);
  node.pcie.clear();
  Cluster cluster = one_switch(node, 2 * per_leaf, 400_Gbps);
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.switch_buffer = {64'000'000};
  network.pause.xoff = {200'000};
  network.pause.xon = {150'000};
  network.pause.response = 1_us;
  network.routing = routing;
  network.topology = {};
  network.topology.kind = TopologyKind::kLeafSpine;
  network.topology.switch_ports = 2 * per_leaf;
  network.topology = size_topology(network, cluster.nodes, 1).topology;
  return cluster;
}

// How many of the flows i -> i + n share the busiest cable.
int most_on_a_cable(const Fabric& fabric, int flows) {
  std::map<LinkId, int> loads;
  int most = 0;
  for (int i = 0; i < flows; ++i) {
    const std::uint16_t port = udp_source_port(1, {0, i, i + flows, 0}, false, 0, false);
    const Route route = fabric.wire(i, 0, i + flows, 0, port);
    EXPECT_EQ(route.size(), 4U);
    for (const RouteHop& hop : route) most = std::max(most, ++loads[hop.link]);
  }
  return most;
}

TEST(EcmpRoutes, TheWorstFlowGetsItsShareOfItsBusiestCable) {
  for (const int flows : {4, 8, 12}) {
    std::vector<IncastStream> streams;
    for (int i = 0; i < flows; ++i) streams.push_back({i, i + flows, {1 << 20}, 8, 0});
    Incast incast(two_leaves(flows, Routing::kEcmp), streams);
    incast.run();
    const int shared = most_on_a_cable(incast.world().fabric(), flows);
    EXPECT_GT(shared, 1) << "flows as many as links seldom miss each other";
    const double alone = 8.0 * (1 << 20) / (50e9 * 4096 / 4178) * 1e12;
    EXPECT_NEAR(static_cast<double>(incast.last_arrival()), shared * alone, 0.02 * shared * alone);
  }
}

TEST(EcmpRoutes, StaticRoutingKeepsThemApart) {
  std::vector<IncastStream> streams;
  for (int i = 0; i < 8; ++i) streams.push_back({i, i + 8, {1 << 20}, 8, 0});
  Incast incast(two_leaves(8, Routing::kStatic), streams);
  incast.run();
  const double alone = 8.0 * (1 << 20) / (50e9 * 4096 / 4178) * 1e12;
  EXPECT_NEAR(static_cast<double>(incast.last_arrival()), alone, 0.02 * alone);
}

// Queue pairs of one connection take ways of their own.
TEST(EcmpRoutes, SpreadQueuePairs) {
  const Cluster cluster = two_leaves(8, Routing::kEcmp);
  const Fabric fabric(cluster);
  std::set<LinkId> cables;
  for (int pair = 0; pair < 16; ++pair) {
    const std::uint16_t port = udp_source_port(1, {0, 0, 8, 0}, false, pair, false);
    cables.insert(fabric.wire(0, 0, 8, 0, port).at(1).link);
  }
  EXPECT_GE(cables.size(), 4U);
}

// A ring over both leaves, with several queue pairs: skipping what recurs changes nothing.
TEST(EcmpRoutes, SkippingIsExact) {
  for (const int queue_pairs : {1, 3}) {
    PredictionRequest request = request_for(two_leaves(3, Routing::kEcmp), {6 * 2 * 64 * 4096});
    request.communication.slot_size = 64_KiB;
    request.communication.queue_pairs = queue_pairs;
    expect_same(predict(request), in_full(request));
  }
}

// The fluid model has one way between two NICs: it says so rather than to guess.
TEST(EcmpRoutes, AreNotForFlows) {
  PredictionRequest request = request_for(two_leaves(3, Routing::kEcmp), {6 * 64 * 4096});
  request.fidelity = Fidelity::kFlow;
  EXPECT_THROW(predict(request), SimulationError);
  request.cluster.network.routing = Routing::kStatic;
  EXPECT_GT(row_us(predict(request)), 0);
}

}  // namespace
}  // namespace gradhaul
