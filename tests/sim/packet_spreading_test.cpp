// Switches that choose a way for each packet: what it brings where ways are narrow or meet, and
// what NICs make of packets that overtake each other.

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "core/topology_size.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/same_prediction.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr int kWays = 4;
constexpr double kUplink = 12.5e9 * 4096 / 4178;  // payload of 100 Gb/s, bytes a second

// Two leaves of four nodes with NICs of 400 Gb/s, four uplinks each that have trained down to 100.
Cluster narrow_uplinks(Routing routing, int spines) {
  Node node = bare_node(1, 5);
  node.pcie.clear();
  Cluster cluster = one_switch(node, 2 * kWays, 400_Gbps);
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.switch_buffer = {256'000'000};
  network.pause.xoff = {4'000'000};
  network.pause.xon = {3'000'000};
  network.pause.response = 1_us;
  network.routing = routing;
  network.topology = {};
  network.topology.kind = TopologyKind::kLeafSpine;
  network.topology.switch_ports = 2 * kWays;
  network.topology.leaves = 2;
  network.topology.spines = spines;
  network.topology = size_topology(network, cluster.nodes, 1).topology;
  for (int leaf = 0; leaf < 2; ++leaf) {
    for (int spine = 0; spine < spines; ++spine) {
      cluster.faults.links.push_back(
          {"leaf" + std::to_string(leaf) + "-spine" + std::to_string(spine), 100_Gbps, {}, {}});
    }
  }
  return cluster;
}

const StreamPlan kElephant{.length = {512 * 1024}, .writes = 64};
constexpr double kBytes = 64.0 * 512 * 1024;

double goodput(const WriteStream& stream) {
  return kBytes / static_cast<double>(stream.arrived().back()) * 1e12;
}

std::vector<std::int64_t> uplink_payloads(const WriteStream& stream) {
  std::vector<std::int64_t> payloads;
  const std::vector<Link>& links = stream.world().fabric().links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string& name = links[i].name;
    if (name.rfind("leaf0-spine", 0) != 0 || name.substr(name.size() - 3) != ".up") continue;
    payloads.push_back(stream.world().engine().state(static_cast<LinkId>(i)).payload_total);
  }
  return payloads;
}

// One large flow has one uplink where its way is fixed, and all of them where each packet has its
// own. Draws fill the fullest of four with N/4 + 1.03 sigma of N, sigma^2 = 3/16 N: 1.8 % of 8192.
TEST(PacketSpreading, GivesOneFlowAllWays) {
  for (const int spines : {1, 2, kWays}) {
    SCOPED_TRACE(spines);
    const WriteStream one(narrow_uplinks(Routing::kStatic, spines), kElephant);
    EXPECT_NEAR(goodput(one), kUplink, 0.01 * kUplink);
    const WriteStream adaptive(narrow_uplinks(Routing::kAdaptive, spines), kElephant);
    EXPECT_NEAR(goodput(adaptive), kWays * kUplink, 0.01 * kWays * kUplink);
    const WriteStream spray(narrow_uplinks(Routing::kSpray, spines), kElephant);
    EXPECT_NEAR(goodput(spray), kWays * kUplink, 0.05 * kWays * kUplink);
    EXPECT_LT(goodput(spray), goodput(adaptive));
  }
}

TEST(PacketSpreading, SharesWaysAsItsRuleSays) {
  const auto even = static_cast<std::int64_t>(kBytes / kWays);
  const WriteStream adaptive(narrow_uplinks(Routing::kAdaptive, kWays), kElephant);
  ASSERT_EQ(uplink_payloads(adaptive).size(), 4U);
  for (const std::int64_t payload : uplink_payloads(adaptive)) {
    EXPECT_NEAR(static_cast<double>(payload), static_cast<double>(even), 4 * 4096);
  }
  // Five sigma of 8192 draws: 5 sqrt(8192 * 3/16) packets.
  const WriteStream spray(narrow_uplinks(Routing::kSpray, kWays), kElephant);
  for (const std::int64_t payload : uplink_payloads(spray)) {
    EXPECT_NEAR(static_cast<double>(payload), static_cast<double>(even), 196 * 4096);
    EXPECT_NE(payload, even);
  }
}

// What is placed as it comes is not sent again, and comes once.
TEST(PacketSpreading, PlacesWhatComesOutOfOrder) {
  for (const Routing routing : {Routing::kAdaptive, Routing::kSpray}) {
    const WriteStream stream(narrow_uplinks(routing, kWays), kElephant);
    EXPECT_EQ(stream.arrived().size(), 64U);
    EXPECT_EQ(stream.done().size(), 64U);
    const auto bytes = static_cast<std::int64_t>(kBytes);
    const PacketEngine& engine = stream.world().engine();
    EXPECT_EQ(engine.payload_sent(), engine.payload_delivered());
    const std::vector<std::int64_t> uplinks = uplink_payloads(stream);
    EXPECT_EQ(std::accumulate(uplinks.begin(), uplinks.end(), std::int64_t{0}), bytes);
    for (const int node : {0, 2 * kWays - 1}) {
      const RecoveryCounts counts = stream.world().packets().recovery(node, 0);
      EXPECT_EQ(counts.retransmitted + counts.out_of_sequence + counts.packet_seq_err, 0);
    }
  }
}

// A NIC that takes a gap for a loss has its sender go back again and again.
TEST(PacketSpreading, CollapsesWhereGapsAreTakenForLosses) {
  Cluster cluster = narrow_uplinks(Routing::kSpray, kWays);
  const double placed = goodput(WriteStream(cluster, kElephant));
  cluster.node.nic.out_of_order = OutOfOrder::kNak;
  const WriteStream asked(cluster, kElephant);
  EXPECT_LT(goodput(asked), 0.25 * placed);
  EXPECT_GT(asked.world().packets().recovery(2 * kWays - 1, 0).out_of_sequence, 1000);
  EXPECT_GT(asked.world().packets().recovery(0, 0).packet_seq_err, 100);
  EXPECT_GT(asked.world().packets().recovery(0, 0).retransmitted, 1000);
  // Where packets keep their order, that costs nothing.
  cluster.network.routing = Routing::kStatic;
  EXPECT_NEAR(goodput(WriteStream(cluster, kElephant)), kUplink, 0.01 * kUplink);
}

// A packet that is lost is no other thing to such a NIC than one that is late: nobody is told,
// until the timer runs out, which runs from the last packet that was acknowledged. All from there
// on is sent again then; what had come is dropped, and is delivered when the lost one is there.
TEST(PacketSpreading, LosesATimeoutForWhatIsLost) {
  constexpr int kWrites = 64;
  constexpr int kTimeout = 10;
  constexpr std::int64_t kPatience = std::int64_t{4'096'000} << kTimeout;
  Cluster cluster = narrow_uplinks(Routing::kAdaptive, kWays);
  const StreamPlan stream{.length = {4096}, .writes = kWrites, .timeout = kTimeout};
  const WriteStream healthy(cluster, stream);
  const WriteStream lone(cluster, {.length = {4096}, .timeout = kTimeout});
  const std::int64_t middle = healthy.arrived().at(kWrites / 2);
  cluster.faults.down = {{"node0.nic0", {middle - 2'000'000}, Duration{1}}};
  const WriteStream broken(cluster, stream);
  int lost = 0;
  while (broken.arrived().at(static_cast<std::size_t>(lost)) < kPatience) ++lost;
  ASSERT_GT(lost, 0);
  ASSERT_LT(lost, kWrites - 2);
  const Node& node = cluster.node;
  const std::int64_t posting =
      (node.gpu.flag_latency + node.nic.post + node.nic.doorbell + node.nic.wqe_fetch).ps;
  const auto before = static_cast<std::size_t>(lost - 1);
  const std::int64_t acknowledged = broken.done().at(before) - node.nic.completion.ps;
  EXPECT_EQ(broken.arrived().at(before), healthy.arrived().at(before));
  EXPECT_EQ(broken.arrived().at(before + 1),
            acknowledged + kPatience + lone.arrived().at(0) - posting);
  const RecoveryCounts counts = broken.world().packets().recovery(0, 0);
  EXPECT_EQ(counts.local_ack_timeout_err, 1);
  EXPECT_EQ(counts.packet_seq_err, 0);
  EXPECT_EQ(counts.retransmitted, kWrites - lost);
  EXPECT_EQ(broken.arrived().size(), std::size_t{kWrites});
}

// A leaf sends nothing to a port of its own that is down.
TEST(PacketSpreading, LeavesOutPortsThatAreDown) {
  for (const Routing routing : {Routing::kAdaptive, Routing::kSpray}) {
    Cluster cluster = narrow_uplinks(routing, kWays);
    cluster.faults.down = {{"leaf0-spine1", {}, {}}, {"leaf1-spine1", {}, {}}};
    const WriteStream stream(cluster, kElephant);
    EXPECT_NEAR(goodput(stream), 3 * kUplink, 0.05 * 3 * kUplink);
    EXPECT_EQ(stream.world().packets().recovery(0, 0).retransmitted, 0);
    EXPECT_EQ(uplink_payloads(stream).at(1), 0);
  }
}

// Three leaves of two nodes and two uplinks, as scenarios/static-collision.yaml has them: two
// neighbours of the ring share an uplink while another stands idle.
Cluster three_leaves(Routing routing) {
  Cluster cluster = paired_cluster(6, 1);
  cluster.network.routing = routing;
  cluster.network.topology = {};
  cluster.network.topology.kind = TopologyKind::kLeafSpine;
  cluster.network.topology.switch_ports = 4;
  cluster.network.topology.leaves = 3;
  cluster.network.topology = size_topology(cluster.network, 6, 1).topology;
  return cluster;
}

double ring_us(Routing routing, std::vector<Rank> order) {
  PredictionRequest request = request_for(three_leaves(routing), 16_MiB);
  request.communication.ring_order = RingOrder::kListed;
  request.communication.listed_rings = {std::move(order)};
  return row_us(predict(request));
}

TEST(PacketSpreading, CuresCollisionsOfStaticRouting) {
  const std::vector<Rank> meeting{0, 2, 1, 4, 3, 5};
  const double apart = ring_us(Routing::kStatic, {0, 2, 1, 5, 3, 4});
  EXPECT_GT(ring_us(Routing::kStatic, meeting), 1.5 * apart);
  // Leaves do not know which spine has a queue towards the next leaf.
  EXPECT_LT(ring_us(Routing::kAdaptive, meeting), 1.2 * apart);
}

// The critical path does not speak of losses where there are none.
TEST(PacketSpreading, SaysThatNothingIsLost) {
  PredictionRequest request = request_for(three_leaves(Routing::kSpray), 4_MiB);
  request.communication.ring_order = RingOrder::kListed;
  request.communication.listed_rings = {{0, 2, 1, 4, 3, 5}};
  const Duration placed = predict(request).rows.at(0).time;
  request.cluster.node.nic.out_of_order = OutOfOrder::kNak;
  const Prediction prediction = predict(request);
  Duration mistaken;
  for (const TimePart& part : prediction.rows.at(0).parts) {
    EXPECT_NE(part.cause, "retransmission");
    if (part.cause == "taken for lost") mistaken += part.time;
  }
  EXPECT_GT(prediction.rows.at(0).time, placed);
  // What it takes longer, and some of what it waited for in order.
  EXPECT_GT(2 * mistaken, prediction.rows.at(0).time - placed);
}

// What is drawn does not recur, and is not the same in parts that are alike.
TEST(PacketSpreading, IsSimulatedInFull) {
  PredictionRequest request = request_for(three_leaves(Routing::kAdaptive), 4_MiB);
  request.communication.slot_size = 64_KiB;
  const Prediction prediction = predict(request);
  EXPECT_EQ(prediction.cost.skipped_packet_hops, 0);
  EXPECT_EQ(prediction.cost.equal_parts, 1);
  EXPECT_TRUE(prediction.exact);
  EXPECT_EQ(predict(request).digest, prediction.digest);
  request.seed = 2;
  EXPECT_NE(predict(request).digest, prediction.digest);
}

// Where there is one way, choosing is no other thing than having none to choose from.
TEST(PacketSpreading, IsNothingBehindOneSwitch) {
  PredictionRequest request = request_for(paired_cluster(3, 2), 3'000'000_B);
  request.cluster.network.topology.leaves = 1;
  const Prediction fixed = predict(request);
  request.cluster.network.routing = Routing::kAdaptive;
  EXPECT_EQ(predict(request).digest, fixed.digest);
}

Cluster random_cluster(Draws& draws) {
  const int per_leaf = static_cast<int>(draws.between(1, 3));
  Cluster cluster = paired_cluster(2 * per_leaf, static_cast<int>(draws.between(1, 2)));
  Network& network = cluster.network;
  network.mtu = Bytes{std::int64_t{1024} << draws.below(3)};
  network.routing = draws.below(2) == 0 ? Routing::kAdaptive : Routing::kSpray;
  if (draws.below(2) == 0) {
    network.kind = NetworkKind::kRoce;
    network.switch_buffer = {64'000'000};
    network.pause.xoff = {60'000};
    network.pause.xon = {50'000};
    network.pause.response = 1_us;
  }
  network.topology = {};
  network.topology.kind = TopologyKind::kLeafSpine;
  network.topology.leaves = 2;
  network.topology.spines = static_cast<int>(draws.between(1, 2));
  network.topology.uplinks_per_leaf = network.topology.spines * 2;
  network.topology.switch_ports = 32;
  network.oversubscription = 10;
  network.topology = size_topology(network, cluster.nodes, cluster.node.nic_count).topology;
  NicModel& nic = cluster.node.nic;
  nic.out_of_order = draws.below(2) == 0 ? OutOfOrder::kPlace : OutOfOrder::kNak;
  nic.retransmission =
      draws.below(2) == 0 ? Retransmission::kGoBackN : Retransmission::kSelectiveRepeat;
  cluster.node.pcie_settings.tags = static_cast<int>(draws.between(1, 64));
  if (draws.below(2) == 0) cluster.faults.links = {{"leaf0-spine0", 100_Gbps, {}, {}}};
  if (draws.below(2) == 0) cluster.faults.errors = {{"node0.nic0", 1e-7, 0}};
  return cluster;
}

// The run asserts that every byte is accepted once, engines that each slice comes once and in its
// place, and blame that its parts add up.
TEST(PacketSpreading, BytesInAreBytesOut) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed + 4000);
    PredictionRequest request = request_for(random_cluster(draws), {draws.between(20, 300) * 1000});
    request.seed = seed;
    request.communication.slot_size = Bytes{draws.between(1, 64) * 1000};
    request.communication.slots = static_cast<int>(draws.between(1, 8));
    request.communication.queue_pairs = static_cast<int>(draws.between(1, 3));
    request.communication.timeout = static_cast<int>(draws.between(4, 7));
    const Prediction prediction = predict(request);
    ASSERT_EQ(prediction.failure, "");
    if (seed % 10 > 0) continue;
    EXPECT_EQ(predict(request).digest, prediction.digest);
  }
}

}  // namespace
}  // namespace gradhaul
