// The packet engine beside ns-3 (ns3_flows.cpp): the same packets over the same wires, where both
// say the same of them: endless queues, first come first served, nothing lost. ns-3's switches
// store a packet before they send it on and the engine's do not, so that a packet is there later by
// the time it takes on each wire but the last; of thousands of packets that is a thousandth.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "core/topology_size.h"
#include "sim/packet_engine.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr double kAllowed = 0.005;
constexpr std::int32_t kPayload = 4096;

struct FlowOfPackets {
  Route route;
  int packets = 0;
  std::int64_t start = 0;  // ps
};

class EngineRun final : private Endpoints {
 public:
  // When the last packet of each flow is there.
  std::vector<std::int64_t> ends(const Fabric& fabric, const std::vector<FlowOfPackets>& flows) {
    PacketEngine engine(fabric, *this);
    ends_.assign(flows.size(), 0);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      FlowSpec spec;
      spec.route = flows[i].route;
      spec.data = true;
      const FlowId id = engine.add_flow(spec);
      for (int n = 0; n < flows[i].packets; ++n) {
        Packet packet;
        packet.message = static_cast<std::int32_t>(i);
        packet.payload = kPayload;
        engine.send(id, packet, flows[i].start);
      }
    }
    engine.run(INT64_MAX - 1);
    return ends_;
  }

 private:
  void on_first_start(const Packet& /*packet*/, std::int64_t /*now*/) override {}
  void on_delivery(const Packet& packet, std::int64_t delivered) override {
    std::int64_t& end = ends_[static_cast<std::size_t>(packet.message)];
    end = std::max(end, delivered);
  }
  void on_event(std::uint32_t /*kind*/, std::int32_t /*index*/) override {}

  std::vector<std::int64_t> ends_;
};

std::vector<std::int64_t> ns3_ends(const Fabric& fabric, const std::vector<FlowOfPackets>& flows) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      (std::string("gradhaul-flows-") +
       testing::UnitTest::GetInstance()->current_test_info()->name());
  {
    std::ofstream output(file);
    for (const Link& link : fabric.links()) {
      SerialisationCarry carry;
      const Duration second = serialisation_time({1'000'000'000}, link.rate, carry);
      output << "link " << std::llround(8e21 / static_cast<double>(second.ps)) << ' '
             << link.latency.ps << '\n';
    }
    for (const FlowOfPackets& flow : flows) {
      output << "flow " << flow.start << ' ' << flow.packets << ' '
             << kPayload + flow.route.front().overhead.count;
      for (const RouteHop& hop : flow.route) output << ' ' << hop.link;
      output << '\n';
    }
  }
  const std::string command = std::string(GRADHAUL_NS3_FLOWS) + " " + file.string();
  std::vector<std::int64_t> ends;
  FILE* answer = popen(command.c_str(), "r");
  for (long long end = 0; answer != nullptr && std::fscanf(answer, "%lld", &end) == 1;) {
    ends.push_back(end);
  }
  EXPECT_EQ(answer == nullptr ? -1 : pclose(answer), 0) << command;
  std::filesystem::remove(file);
  return ends;
}

void expect_the_same(const Cluster& cluster, const Fabric& fabric,
                     const std::vector<FlowOfPackets>& flows) {
  const std::vector<std::int64_t> ours = EngineRun().ends(fabric, flows);
  const std::vector<std::int64_t> theirs = ns3_ends(fabric, flows);
  ASSERT_EQ(theirs.size(), flows.size()) << cluster.network.name;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const double took = static_cast<double>(theirs[i] - flows[i].start);
    EXPECT_NEAR(static_cast<double>(ours[i] - flows[i].start), took, kAllowed * took)
        << "flow " << i << " of " << flows[i].packets << " packets over " << flows[i].route.size()
        << " wires";
  }
}

// Two leaves of four nodes and one spine; wires of 400 Gb/s, between leaf and spine of the rate
// that `oversubscription` leaves.
Cluster two_leaves(double oversubscription) {
  Cluster cluster = bare_wire(400_Gbps, Bytes{kPayload});
  cluster.nodes = 8;
  cluster.network.vl_buffer = {0};
  cluster.network.oversubscription = oversubscription;
  cluster.network.topology = {TopologyKind::kLeafSpine, 8, 2, 1, 1};
  return cluster;
}

TEST(BesideNs3, OneFlowOverOneToFourWires) {
  const Cluster cluster = two_leaves(4);
  const Fabric fabric(cluster);
  const Route whole = fabric.wire(0, 0, 7, 0);
  ASSERT_EQ(whole.size(), 4U);
  for (std::size_t wires = 1; wires <= 4; ++wires) {
    const Route part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(wires));
    expect_the_same(cluster, fabric, {{part, 3000}});
  }
}

// Three nodes write to one, each from another moment on.
TEST(BesideNs3, ManyFlowsIntoOnePort) {
  const Cluster cluster = two_leaves(4);
  const Fabric fabric(cluster);
  std::vector<FlowOfPackets> flows;
  for (int node = 1; node < 4; ++node) {
    flows.push_back({fabric.wire(node, 0, 0, 0), 800 + 200 * node, node * 7'000'000});
  }
  expect_the_same(cluster, fabric, flows);
}

TEST(BesideNs3, RandomFlowsThroughOneUplink) {
  const Cluster cluster = two_leaves(4);
  const Fabric fabric(cluster);
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<FlowOfPackets> flows;
    for (int i = 0; i < 6; ++i) {
      const int from = static_cast<int>(random() % 8);
      const int to = static_cast<int>((static_cast<unsigned>(from) + 1 + random() % 7) % 8);
      flows.push_back({fabric.wire(from, 0, to, 0), static_cast<int>(1000 + random() % 1000),
                       static_cast<std::int64_t>(random() % 40) * 1'000'000});
    }
    expect_the_same(cluster, fabric, flows);
  }
}

}  // namespace
}  // namespace gradhaul
