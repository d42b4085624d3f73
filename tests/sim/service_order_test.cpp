// What a link serves next, and when a packet is ready at the next one: the rules at the head of
// sim/packet_engine.h, packet by packet.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/packet_engine.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/path_oracle.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Two GPUs and a NIC below one switch. A test names packets by `message`.
class Bench final : private Endpoints {
 public:
  explicit Bench(const Cluster& cluster) : fabric_(cluster), engine_(fabric_, *this) {}

  FlowId flow(Route route, TrafficClass traffic_class) {
    FlowSpec spec;
    spec.route = std::move(route);
    spec.traffic_class = traffic_class;
    spec.data = true;
    return engine_.add_flow(spec);
  }
  void send(FlowId flow, int name, std::int32_t payload, std::int64_t ready) {
    Packet packet;
    packet.message = name;
    packet.payload = payload;
    engine_.send(flow, packet, ready);
  }
  // When each packet's last bit is there.
  const std::map<int, std::int64_t>& run() {
    engine_.run(INT64_MAX - 1);
    return delivered_;
  }
  const std::vector<int>& order() const { return order_; }
  // Of pieces of a packet, each by itself.
  const std::vector<std::int64_t>& delivery_times() const { return times_; }
  const Fabric& fabric() const { return fabric_; }
  const PacketEngine& engine() const { return engine_; }
  LinkId link(const std::string& name) const {
    for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
      if (fabric_.links()[i].name == name) return static_cast<LinkId>(i);
    }
    return kNoLink;
  }

 private:
  void on_first_start(const Packet& /*packet*/, std::int64_t /*now*/) override {}
  void on_delivery(const Packet& packet, std::int64_t delivered) override {
    delivered_[packet.message] = delivered;
    order_.push_back(packet.message);
    times_.push_back(delivered);
  }
  void on_event(std::uint32_t /*kind*/, std::int32_t /*index*/) override {}

  Fabric fabric_;
  PacketEngine engine_;
  std::map<int, std::int64_t> delivered_;
  std::vector<int> order_;
  std::vector<std::int64_t> times_;
};

Cluster two_gpus() {
  Cluster cluster;
  cluster.node = bare_node(1, 4);
  cluster.node.gpu_count = 2;
  cluster.node.pcie[0].devices = {"gpu0", "gpu1", "nic0"};
  cluster.ranks_per_node = 2;
  return cluster;
}

double ps_on(int generation, double bytes) {
  return bytes / oracle::pcie_bytes({generation, 16}, 0.03) * 1e12;
}
constexpr std::int64_t kToSwitch = 125'000;
constexpr std::int64_t kToDevice = 20'000;

TEST(ServiceOrder, WhoWasReadyFirstGoesFirst) {
  Bench bench(two_gpus());
  const FlowId low = bench.flow(bench.fabric().dma_completion(0, 0, 0), TrafficClass::kCompletion);
  const FlowId high = bench.flow(bench.fabric().dma_completion(0, 0, 1), TrafficClass::kCompletion);
  bench.send(low, 2, 4096, 2);
  bench.send(high, 1, 4096, 1);
  bench.send(low, 3, 4096, 3);
  bench.run();
  EXPECT_EQ(bench.order(), (std::vector<int>{1, 2, 3}));
}

// At one picosecond the link with the lower number comes first, which is the one whose name does.
TEST(ServiceOrder, TiesGoByIngressWhateverWasSentFirst) {
  for (const bool swapped : {false, true}) {
    Bench bench(two_gpus());
    const FlowId low =
        bench.flow(bench.fabric().dma_completion(0, 0, 0), TrafficClass::kCompletion);
    const FlowId high =
        bench.flow(bench.fabric().dma_completion(0, 0, 1), TrafficClass::kCompletion);
    if (swapped) bench.send(high, 2, 1024, 500);
    bench.send(low, 1, 1024, 500);
    if (!swapped) bench.send(high, 2, 1024, 500);
    const auto delivered = bench.run();
    EXPECT_EQ(bench.order(), (std::vector<int>{1, 2}));
    const double train = ps_on(4, 1024 + 4 * 20);
    EXPECT_NEAR(static_cast<double>(delivered.at(1)), 500 + kToSwitch + kToDevice + train, 2);
    EXPECT_NEAR(static_cast<double>(delivered.at(2)), 500 + kToSwitch + kToDevice + 2 * train, 2);
  }
}

// The one with the higher number is on its way first, and takes as much longer as it began earlier.
TEST(ServiceOrder, TiesGoByIngressWhateverBeganFirst) {
  Cluster cluster = two_gpus();
  cluster.node.pcie = {{"sw0", "socket0", PcieLink{5, 16}, {"gpu0"}},
                       {"sw1", "socket0", PcieLink{3, 16}, {"gpu1"}},
                       {"", "socket0", PcieLink{5, 16}, {"nic0"}}};
  cluster.node.nic.pcie = PcieLink{5, 16};
  Bench bench(cluster);
  const auto route = [&](const char* first) {
    Route links;
    for (const char* name : {first, "node0.sw0.down"}) {
      links.push_back({bench.link(name), {256}, {24}});
    }
    return links;
  };
  const FlowId low = bench.flow(route("node0.nic0.pcie.up"), TrafficClass::kCompletion);
  const FlowId high = bench.flow(route("node0.sw1.up"), TrafficClass::kCompletion);
  SerialisationCarry slow;
  SerialisationCarry fast;
  const auto rate = [&](const char* name) { return bench.fabric().link(bench.link(name)).rate; };
  const Duration wait = serialisation_time({4480}, rate("node0.sw1.up"), slow) -
                        serialisation_time({4480}, rate("node0.sw0.down"), fast);
  bench.send(high, 2, 4096, 0);
  bench.send(low, 1, 4096, wait.ps);
  bench.run();
  EXPECT_EQ(bench.order(), (std::vector<int>{1, 2}));
  // A picosecond earlier, and it is first.
  bench.send(high, 4, 4096, 1'000'000'000);
  bench.send(low, 3, 4096, 1'000'000'001 + wait.ps);
  bench.run();
  EXPECT_EQ(bench.order(), (std::vector<int>{1, 2, 4, 3}));
}

// One credit, back 10 us after it was used.
Cluster one_credit() {
  Cluster cluster = two_gpus();
  cluster.node.pcie_settings.posted_header_credits = 1;
  cluster.node.pcie_settings.credit_loop = 10_us;
  return cluster;
}

TEST(ServiceOrder, OtherClassesPassAPostedWriteThatLacksCredits) {
  Bench bench(one_credit());
  const FlowId write = bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kPosted);
  // The route is the same; what matters is the class.
  const FlowId completion =
      bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kCompletion);
  bench.send(write, 1, 256, 0);
  bench.send(write, 2, 256, 1'000'000);
  bench.send(completion, 3, 256, 2'000'000);
  const auto delivered = bench.run();
  EXPECT_EQ(bench.order(), (std::vector<int>{1, 3, 2}));
  const double way = kToSwitch + kToDevice + ps_on(4, 280);
  EXPECT_NEAR(static_cast<double>(delivered.at(1)), way, 2);
  EXPECT_NEAR(static_cast<double>(delivered.at(3)), 2e6 + way, 2);
  EXPECT_NEAR(static_cast<double>(delivered.at(2)), 10e6 + way, 2);
}

TEST(ServiceOrder, NoReadRequestPassesAPostedWrite) {
  Bench bench(one_credit());
  const FlowId write = bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kPosted);
  const FlowId request = bench.flow(bench.fabric().dma_request(0, 0, 1), TrafficClass::kNonPosted);
  bench.send(write, 1, 256, 0);
  bench.send(request, 2, 0, 500'000);  // before the next write
  bench.send(write, 3, 256, 1'000'000);
  bench.send(request, 4, 0, 2'000'000);  // behind it
  const auto delivered = bench.run();
  const double way = kToSwitch + kToDevice;
  EXPECT_NEAR(static_cast<double>(delivered.at(2)), 0.5e6 + way + ps_on(4, 24), 2);
  EXPECT_NEAR(static_cast<double>(delivered.at(3)), 10e6 + way + ps_on(4, 280), 2);
  EXPECT_NEAR(static_cast<double>(delivered.at(4)), 10e6 + ps_on(4, 280) + way + ps_on(4, 24), 3);
}

// A credit that is back at the instant at which a packet comes is there for it.
TEST(ServiceOrder, CreditsComeBackBeforeAnythingStarts) {
  Bench bench(one_credit());
  const FlowId write = bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kPosted);
  bench.send(write, 1, 256, 0);
  bench.send(write, 2, 256, 10'000'000);
  const auto delivered = bench.run();
  EXPECT_EQ(delivered.at(2) - delivered.at(1), 10'000'000);
  EXPECT_EQ(bench.engine().stall_total(bench.link("node0.nic0.pcie.up")), 0);
}

TEST(ServiceOrder, WaitingIsBacklogAndWithoutCreditsAStall) {
  Bench bench(one_credit());
  const FlowId write = bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kPosted);
  const FlowId request = bench.flow(bench.fabric().dma_request(0, 0, 0), TrafficClass::kNonPosted);
  bench.send(write, 1, 256, 0);
  bench.send(write, 2, 256, 4'000'000);
  bench.run();
  const LinkId up = bench.link("node0.nic0.pcie.up");
  EXPECT_EQ(bench.engine().stall_total(up), 6'000'000);
  EXPECT_EQ(bench.engine().backlog_total(up), 6'000'000);
  // Behind another packet only: no stall.
  bench.send(request, 3, 0, 50'000'000);
  bench.send(request, 4, 0, 50'000'000);
  bench.run();
  EXPECT_EQ(bench.engine().stall_total(up), 6'000'000);
  EXPECT_NEAR(static_cast<double>(bench.engine().backlog_total(up)), 6e6 + ps_on(4, 24), 2);
}

// Of a window of 8 TLPs, 7 or 6 are on their way: with one left a packet waits until the switch
// lets go of some, with two it sends what it may at once.
TEST(ServiceOrder, APacketIsCutOnlyWhileAQuarterOfTheWindowIsLeft) {
  for (const int first : {7, 6}) {
    Cluster cluster = two_gpus();
    cluster.node.pcie_settings.posted_header_credits = 8;
    cluster.node.pcie_settings.credit_loop = 1_us;
    Bench bench(cluster);
    const FlowId write = bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kPosted);
    // Others may come to the GPU too, so that nothing there is decided before it happens.
    bench.flow(bench.fabric().peer(0, 1, 0), TrafficClass::kPosted);
    bench.send(write, 1, first * 256, 0);
    bench.send(write, 2, 4 * 256, 0);
    bench.run();
    const int piece = 8 - first;
    ASSERT_EQ(bench.order(), (std::vector<int>{1, 2, 2}));
    const double begins = first == 7 ? kToSwitch : ps_on(4, first * 280);
    EXPECT_NEAR(static_cast<double>(bench.delivery_times()[1]),
                begins + kToSwitch + kToDevice + ps_on(4, piece * 280), 3);
    // The rest follows as the credits of the first come back, a loop after it left.
    const double rest = 1e6 + kToSwitch + kToDevice + ps_on(4, (4 - piece) * 280);
    EXPECT_NEAR(static_cast<double>(bench.delivery_times()[2]), rest, 3);
  }
}

// The first bit goes on after the latency; a faster link waits so that it never runs dry.
TEST(CutThrough, EndsWhenTheSlowestLinkLetsIt) {
  for (const int device : {3, 4, 5}) {
    for (const int nic : {3, 4, 5}) {
      Cluster cluster = two_gpus();
      cluster.node.gpu.pcie = PcieLink{device, 16};
      cluster.node.nic.pcie = PcieLink{nic, 16};
      Bench bench(cluster);
      const FlowId flow = bench.flow(bench.fabric().dma_write(0, 0, 0), TrafficClass::kPosted);
      bench.send(flow, 1, 4096, 1000);
      const double train = 4096 + 16 * 24;
      const double slowest = std::max(ps_on(device, train), ps_on(nic, train));
      EXPECT_NEAR(static_cast<double>(bench.run().at(1)), 1000 + kToSwitch + kToDevice + slowest, 3)
          << "generation " << nic << " to " << device;
    }
  }
}

// From a slow wire onto a fast one a packet goes on only when it is there whole.
TEST(CutThrough, AFasterWireWaitsForTheWholePacket) {
  Cluster cluster;
  cluster.nodes = 4;
  cluster.node = bare_node(1, 5);
  cluster.node.nic.rate = 100_Gbps;
  cluster.network.link = 400_Gbps;
  cluster.network.switch_latency = 200_ns;
  cluster.network.node_cable_metres = 0;
  cluster.network.spine_cable_metres = 0;
  cluster.network.topology = {TopologyKind::kLeafSpine, 8, 2, 1, 1};
  Bench bench(cluster);
  const FlowId flow = bench.flow(bench.fabric().wire(0, 0, 3, 0), TrafficClass::kPosted);
  bench.send(flow, 1, 4096, 0);
  // 100 Gb/s out, whole; 400 Gb/s to the spine and on, cut through; 100 Gb/s in.
  const std::int64_t slow = 4122 * 80;
  EXPECT_EQ(bench.run().at(1), slow + 3 * 200'000 + slow);
}

}  // namespace
}  // namespace gradhaul
