// NICs with two bonded ports: a queue pair keeps to one of them at each end, and several share what
// the hash leaves to each.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/ecmp.h"
#include "core/nic_rate.h"
#include "sim/fabric.h"
#include "sim/predict.h"
#include "tests/sim/roce_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Cluster bonded_pair() {
  Cluster cluster = roce_switch(2, 100_Gbps);
  cluster.node.bonded_nics = true;
  cluster.network.routing = Routing::kEcmp;
  return cluster;
}

constexpr double kPort = 12.5e9 * 4096 / 4178;

double rate(const Cluster& cluster, int queue_pairs) {
  PredictionRequest request = request_for(cluster, 64_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slot_size = 64_KiB;
  request.communication.slots = 256;
  request.communication.queue_pairs = queue_pairs;
  return (64 << 20) / predict(request).rows[0].time.seconds();
}

TEST(BondedPort, GivesOneQueuePairHalf) {
  EXPECT_EQ(nic_rate(bonded_pair()).bits_per_second, 200'000'000'000);
  Cluster single = bonded_pair();
  single.node.bonded_nics = false;
  EXPECT_NEAR(rate(bonded_pair(), 1) / kPort, 1, 0.01);
  EXPECT_NEAR(rate(single, 1) / rate(bonded_pair(), 1), 1, 1e-3);
}

// Of n queue pairs that carry the same, the fullest of the ports that they leave and come in by, in
// either direction.
double shares_of_fullest(const Cluster& cluster, int queue_pairs) {
  const Fabric fabric(cluster);
  std::map<std::string, int> carried;
  for (const int source : {0, 1}) {
    for (int pair = 0; pair < queue_pairs; ++pair) {
      const ConnectionKey key{0, source, 1 - source, 0};
      for (const RouteHop& hop :
           fabric.wire(source, 0, 1 - source, 0, udp_source_port(1, key, false, pair, false))) {
        ++carried[fabric.link(hop.link).name];
      }
    }
  }
  int most = 0;
  for (const auto& [link, count] : carried) most = std::max(most, count);
  return static_cast<double>(queue_pairs) / most;
}

TEST(BondedPort, GivesManyWhatTheFullestPortLeaves) {
  const Cluster cluster = bonded_pair();
  for (const int queue_pairs : {2, 4, 8, 16, 32, 64}) {
    const double ports = shares_of_fullest(cluster, queue_pairs);
    // Pauses of one of the switch's ports hold up both of those that send to it.
    const double reached = rate(cluster, queue_pairs) / (ports * kPort);
    EXPECT_LT(reached, 1.001) << queue_pairs;
    EXPECT_GT(reached, 0.88) << queue_pairs;
  }
  EXPECT_GT(rate(cluster, 64), 1.5 * kPort);
}

TEST(BondedPort, KeepsAQueuePairOnOnePort) {
  const Fabric fabric(bonded_pair());
  const Route route = fabric.wire(0, 0, 1, 0, 50'000);
  ASSERT_EQ(route.size(), 2U);
  const auto names = [&fabric](const Route& of) {
    return fabric.link(of[0].link).name + " " + fabric.link(of[1].link).name;
  };
  std::map<std::string, int> ways;
  for (std::uint16_t port = 50'000; port < 50'400; ++port) {
    EXPECT_EQ(names(fabric.wire(0, 0, 1, 0, port)), names(fabric.wire(0, 0, 1, 0, port)));
    ++ways[names(fabric.wire(0, 0, 1, 0, port))];
  }
  // Both ends for themselves: four ways, a hundred each, give or take four standard deviations.
  ASSERT_EQ(ways.size(), 4U);
  for (const auto& [way, count] : ways) EXPECT_NEAR(count, 100, 35) << way;
}

}  // namespace
}  // namespace gradhaul
