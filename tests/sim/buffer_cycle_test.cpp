// Cyclic buffer dependencies: found where routes make one, and there packets do come to a
// standstill; never where routes go up and then down.

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "core/topology_size.h"
#include "sim/buffer_cycles.h"
#include "sim/packet_engine.h"
#include "sim/wiring.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kPacket = 1024;

// So many leaves, each with one node, and as many spines, a cable from each to each.
Cluster leaves_of_one(int leaves, NetworkKind kind) {
  Cluster cluster = bare_pair(5, 100_Gbps, {kPacket});
  cluster.nodes = leaves;
  Network& network = cluster.network;
  network.kind = kind;
  network.topology.kind = TopologyKind::kLeafSpine;
  network.topology.switch_ports = 2 * leaves;
  network.topology.leaves = network.topology.spines = network.topology.uplinks_per_leaf = leaves;
  network.vl_buffer = {4096};  // three packets
  network.pause.xoff = {4096};
  network.pause.xon = {2048};
  network.pause.port_buffer = {64 * 1024};
  network.switch_buffer = {64 * 1024 * 2 * leaves};
  return cluster;
}

class Ring final : private Endpoints {
 public:
  Ring(int leaves, NetworkKind kind) : leaves_(leaves), fabric_(leaves_of_one(leaves, kind)) {
    for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
      links_[fabric_.links()[i].name] = static_cast<LinkId>(i);
    }
  }
  // From the node at one leaf, so many leaves on: to each by the spine of the leaf before it, so
  // that it turns up again at every leaf between.
  void add_flow(int from, int leaves_on) {
    FlowSpec flow;
    flow.data = true;
    const auto add = [&](const std::string& name) {
      RouteHop hop;
      hop.link = links_.at(name);
      hop.overhead = {26};
      flow.route.push_back(hop);
    };
    add("node" + std::to_string(from) + ".nic0.out");
    for (int i = 0; i < leaves_on; ++i) {
      const std::string spine = "-spine" + std::to_string((from + i) % leaves_) + ".0.";
      add("leaf" + std::to_string((from + i) % leaves_) + spine + "up");
      add("leaf" + std::to_string((from + i + 1) % leaves_) + spine + "down");
    }
    add("node" + std::to_string((from + leaves_on) % leaves_) + ".nic0.in");
    flows_.push_back(std::move(flow));
  }
  std::vector<LinkId> cycle() const { return buffer_cycle(fabric_, flows_); }
  std::string words() const { return cycle_in_words(fabric_, cycle()); }
  void refuse() const { refuse_buffer_cycles(fabric_, flows_); }
  // Everybody sends at once, far more than buffers hold: whether some of it never comes.
  bool stands_still() {
    constexpr int kPackets = 400;
    PacketEngine engine(fabric_, *this);
    for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
      const LinkId way = fabric_.links()[i].pause.reverse;
      if (way != kNoLink) engine.send_pauses_by(static_cast<LinkId>(i), way);
    }
    for (const FlowSpec& flow : flows_) engine.add_flow(flow);
    for (int packet = 0; packet < kPackets; ++packet) {
      for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
        Packet sent;
        sent.payload = kPacket;
        engine.send(static_cast<FlowId>(flow), sent, 0);
      }
    }
    delivered_ = 0;
    engine.run(INT64_MAX - 1);
    return delivered_ < kPackets * static_cast<int>(flows_.size());
  }

 private:
  void on_first_start(const Packet& /*packet*/, std::int64_t /*now*/) override {}
  void on_delivery(const Packet& /*packet*/, std::int64_t /*delivered*/) override { ++delivered_; }
  void on_event(std::uint32_t /*kind*/, std::int32_t /*index*/) override {}

  int leaves_;
  Fabric fabric_;
  std::map<std::string, LinkId> links_;
  std::vector<FlowSpec> flows_;
  int delivered_ = 0;
};

// Each waits for the room that the next one's packets hold.
TEST(BufferCycle, IsNamed) {
  for (const NetworkKind kind : {NetworkKind::kInfiniband, NetworkKind::kRoce}) {
    Ring ring(3, kind);
    ring.add_flow(0, 2);
    ring.add_flow(1, 2);
    EXPECT_THAT(ring.cycle(), IsEmpty());
    EXPECT_NO_THROW(ring.refuse());
    ring.add_flow(2, 2);
    EXPECT_EQ(ring.words(),
              "leaf0-spine0.0.up -> leaf1-spine0.0.down -> leaf1-spine1.0.up -> "
              "leaf2-spine1.0.down -> leaf2-spine2.0.up -> leaf0-spine2.0.down -> "
              "leaf0-spine0.0.up");
    try {
      ring.refuse();
      ADD_FAILURE() << "it has a cycle";
    } catch (const SimulationError& error) {
      EXPECT_THAT(error.what(), HasSubstr("leaf2-spine1.0.down -> leaf2-spine2.0.up"));
    }
  }
}

// Where nothing is lossless, nobody waits for room.
TEST(BufferCycle, NeedsLosslessLinks) {
  Ring ring(3, NetworkKind::kIdeal);
  for (int leaf = 0; leaf < 3; ++leaf) ring.add_flow(leaf, 2);
  EXPECT_THAT(ring.cycle(), IsEmpty());
  EXPECT_FALSE(ring.stands_still());
}

// Over random flows on rings of leaves: packets come to a standstill if, and only if, it is found.
TEST(BufferCycle, IsWherePacketsComeToAStandstill) {
  std::mt19937 draw(7);  // NOLINT(cert-msc51-cpp): the same cases each time
  int cycles = 0;
  constexpr int kCases = 60;
  for (int number = 0; number < kCases; ++number) {
    const int leaves = 3 + static_cast<int>(draw() % 4);
    const NetworkKind kind = number % 2 == 0 ? NetworkKind::kInfiniband : NetworkKind::kRoce;
    Ring ring(leaves, kind);
    std::string flows;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      // Mostly all of them, so that about half of the cases have a cycle.
      const int on = draw() % 12 == 0 ? 1 : 2 + static_cast<int>(draw() % 2) % (leaves - 2);
      ring.add_flow(leaf, on);
      flows += std::to_string(on) + " ";
    }
    const bool cycle = !ring.cycle().empty();
    cycles += cycle ? 1 : 0;
    EXPECT_EQ(ring.stands_still(), cycle) << leaves << " leaves on by " << flows;
  }
  EXPECT_GT(cycles, kCases / 5);
  EXPECT_LT(cycles, kCases * 4 / 5);
}

// All to all, however nodes, NICs and switches are many.
TEST(BufferCycle, IsNeverWhereRoutesGoUpAndThenDown) {
  std::mt19937 draw(11);  // NOLINT(cert-msc51-cpp)
  for (int number = 0; number < 40; ++number) {
    const int pairs = 1 + static_cast<int>(draw() % 3);
    Cluster cluster = paired_cluster(2 + static_cast<int>(draw() % 6), pairs);
    Network& network = cluster.network;
    network.kind = number % 2 == 0 ? NetworkKind::kInfiniband : NetworkKind::kRoce;
    network.pause.xoff = network.pause.port_buffer = {64 * 1024};
    network.switch_buffer = {1 << 20};
    network.topology.kind =
        number % 4 < 2 ? TopologyKind::kLeafSpine : TopologyKind::kRailOptimized;
    network.topology.switch_ports = 2 * pairs + 2 * static_cast<int>(draw() % 3);
    network.oversubscription = 2;
    const SizedTopology sized = size_topology(network, cluster.nodes, cluster.node.nic_count);
    if (!sized.errors.empty()) continue;
    network.topology = sized.topology;
    if (!rails_meet(network.topology)) continue;
    Communication communication;
    communication.channels = pairs;
    const Placement placement = place(cluster, communication, Collective::kAllToAll);
    std::vector<ConnectionKey> keys;
    for (Rank from = 0; from < cluster.ranks(); ++from) {
      for (Rank to = 0; to < cluster.ranks(); ++to) {
        if (from != to) keys.push_back({from % pairs, from, to, 0});
      }
    }
    const Fabric fabric(cluster);
    const Wiring wiring = wire_up(fabric, placement, communication, 1, keys);
    EXPECT_THAT(buffer_cycle(fabric, wiring.flows), IsEmpty()) << number;
  }
}

}  // namespace
}  // namespace gradhaul
