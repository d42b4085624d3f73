// Networks that pause, or count credits, lose nothing, whoever sends to whom: over hundreds of
// random topologies, cables, marks and incasts. What ports hold is counted here once more, from
// when packets come and go, and beside the same worlds that pause nobody.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/network_framing.h"
#include "core/topology_size.h"
#include "sim/packet_engine.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

struct DrawnFlow {
  int source = 0;
  int destination = 0;
  int nic = 0;                       // at both ends
  std::vector<std::int64_t> starts;  // ps, of its packets
};

struct LosslessWorld {
  Cluster cluster;
  std::vector<DrawnFlow> flows;
};

void draw_topology(Cluster& cluster, Draws& draws) {
  Network& network = cluster.network;
  const std::int64_t kind = draws.below(3);
  if (kind == 0) return;
  Topology topology;
  topology.kind = kind == 1 ? TopologyKind::kLeafSpine : TopologyKind::kRailOptimized;
  topology.switch_ports = 2 * cluster.node.nic_count + 2 * static_cast<int>(draws.between(1, 3));
  network.topology = topology;
  network.oversubscription = static_cast<double>(draws.between(1, 4));
  const SizedTopology sized = size_topology(network, cluster.nodes, cluster.node.nic_count);
  network.topology = sized.topology;
  if (!sized.errors.empty()) {
    network.topology = {TopologyKind::kSingleSwitch, 0, 1, 0, 0};
  }
}

// Marks far below what comes while a pause is on its way, cables of any length, and one node in
// some of them whose port has trained down, so that others wait behind it.
Cluster draw_cluster(Draws& draws, NetworkKind kind) {
  Node node = bare_node(static_cast<int>(draws.between(1, 2)), 5);
  node.pcie.clear();
  constexpr std::int64_t kGigabits[] = {25, 100, 200, 400};
  const BitRate link{kGigabits[draws.below(4)] * 1'000'000'000};
  Cluster cluster = one_switch(node, static_cast<int>(draws.between(3, 12)), link);
  Network& network = cluster.network;
  network.kind = kind;
  network.mtu = {1024 << draws.below(3)};
  network.node_cable_metres = static_cast<double>(draws.between(1, 100));
  network.spine_cable_metres = static_cast<double>(draws.between(1, 300));
  network.switch_latency = {draws.between(100, 900) * 1000};
  network.credit_return = {draws.between(0, 400) * 1000};
  network.vl_buffer = {draws.between(5, 128) * 1024};
  network.switch_buffer = {64'000'000};
  network.pause.xoff = {draws.between(0, 60'000)};
  network.pause.xon = {draws.between(0, network.pause.xoff.count)};
  network.pause.response =
      serialisation_time({pause_response_quanta(link) * kPauseQuantumBits / 8}, link);
  if (draws.below(3) == 0) network.pause.alpha = 0.0005 * static_cast<double>(draws.between(1, 8));
  if (draws.below(2) == 0 && kind == NetworkKind::kRoce) network.routing = Routing::kEcmp;
  draw_topology(cluster, draws);
  if (draws.below(3) == 0) {
    cluster.faults.links = {{"node0.nic0", BitRate{link.bits_per_second / 4}, {}, {}}};
  }
  return cluster;
}

LosslessWorld draw_world(std::uint64_t seed, NetworkKind kind) {
  Draws draws(seed);
  LosslessWorld world;
  world.cluster = draw_cluster(draws, kind);
  const int nodes = world.cluster.nodes;
  // All to one, to two, or to anybody.
  const std::int64_t targets = draws.below(3) == 0 ? nodes : draws.between(1, 2);
  const std::int64_t frame =
      serialisation_time(largest_packet(world.cluster.network), world.cluster.network.link).ps;
  for (int source = 0; source < nodes; ++source) {
    DrawnFlow flow;
    flow.source = source;
    flow.destination = static_cast<int>(draws.below(targets));
    if (flow.destination == source) flow.destination = (source + 1) % nodes;
    flow.nic = static_cast<int>(draws.below(world.cluster.node.nic_count));
    const std::int64_t begin = draws.below(40 * frame);
    const std::int64_t packets = draws.between(50, 250);
    for (std::int64_t i = 0; i < packets; ++i) flow.starts.push_back(begin + draws.below(1000));
    std::sort(flow.starts.begin(), flow.starts.end());
    world.flows.push_back(std::move(flow));
  }
  return world;
}

// What has come into a port's buffer and not yet gone, by its own account.
class PortContents {
 public:
  void add(std::int64_t time, std::int64_t bytes) { changes_.emplace_back(time, bytes); }
  // The most there ever was; of one instant what goes is taken away first.
  std::int64_t most() {
    std::sort(changes_.begin(), changes_.end());
    std::int64_t held = 0;
    std::int64_t most = 0;
    for (const auto& [time, bytes] : changes_) most = std::max(most, held += bytes);
    return most;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> changes_;
};

class LosslessRun final : private Endpoints, private PacketObserver {
 public:
  explicit LosslessRun(const LosslessWorld& world)
      : fabric_(world.cluster),
        roce_(world.cluster.network.kind == NetworkKind::kRoce),
        mtu_(world.cluster.network.mtu.count),
        engine_(fabric_, *this),
        contents_(fabric_.links().size()) {
    for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
      const auto link = static_cast<LinkId>(i);
      engine_.watch(link, *this);
      const LinkId way = fabric_.links()[i].pause.reverse;
      if (way != kNoLink) engine_.send_pauses_by(link, way);
    }
    for (const DrawnFlow& flow : world.flows) send(flow);
    engine_.run(INT64_MAX - 1);
  }

  std::int64_t sent() const { return sent_; }
  std::int64_t delivered() const { return delivered_; }
  // Packets that found no room, at any port.
  std::int64_t lost() const {
    std::int64_t lost = 0;
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const LinkState& state = engine_.state(static_cast<LinkId>(i));
      lost += state.discarded + state.spilt;
    }
    return lost;
  }
  // Whether anybody was held back, and what no port may hold more of than it has.
  bool held_back() const { return held_back_; }
  void expect_within_buffers(const Network& network) {
    for (std::size_t i = 0; i < contents_.size(); ++i) {
      const Link& link = fabric_.links()[i];
      const std::int64_t most = contents_[i].most();
      if (!roce_) {
        EXPECT_LE(most, network.vl_buffer.count) << link.name;
      } else if (link.pause.alpha <= 0) {
        EXPECT_LE(most, (link.pause.xoff + link.pause.headroom).count) << link.name;
      } else {
        const auto shared = static_cast<double>(link.pause.shared.count);
        EXPECT_LE(most, link.pause.alpha * shared + static_cast<double>(link.pause.headroom.count));
      }
    }
  }

 private:
  void send(const DrawnFlow& flow) {
    FlowSpec spec;
    const auto port = static_cast<std::uint16_t>(0xC000 + flow.source);
    spec.route = fabric_.wire(flow.source, flow.nic, flow.destination, flow.nic, port);
    spec.data = true;
    if (spec.route.empty()) return;  // leaves of a rail that do not meet
    const FlowId id = engine_.add_flow(spec);
    for (const std::int64_t start : flow.starts) {
      Packet packet;
      packet.payload = static_cast<std::int32_t>(start % 4 == 0 ? 1 + start % mtu_ : mtu_);
      engine_.send(id, packet, start);
      ++sent_;
    }
  }

  void on_first_start(const Packet& /*packet*/, std::int64_t /*now*/) override {}
  void on_delivery(const Packet& /*packet*/, std::int64_t /*delivered*/) override { ++delivered_; }
  void on_event(std::uint32_t /*kind*/, std::int32_t /*index*/) override {}
  void on_arrival(LinkId /*link*/, std::int64_t /*wire*/, std::int64_t /*now*/) override {}
  void on_stall(LinkId /*link*/, std::int64_t /*since*/, std::int64_t /*until*/) override {
    held_back_ = true;
  }
  void on_pause_frame(LinkId /*link*/, LinkId /*way*/, bool /*pause*/, std::int64_t /*now*/,
                      std::int64_t /*start*/, std::int64_t /*serialisation*/) override {}
  void on_pause(LinkId /*link*/, bool /*paused*/, std::int64_t /*now*/) override {
    held_back_ = true;
  }
  // Ethernet counts bytes, from the last bit in to the last bit out; InfiniBand blocks of 64, as
  // soon as they are sent there.
  void on_start(const PacketStart& start) override {
    const std::int64_t end = start.start + start.serialisation;
    const std::int64_t size = roce_ ? start.wire : (start.wire + 63) / 64 * 64;
    const std::pair<FlowId, std::int64_t> key(start.packet.flow, start.packet.sequence);
    const auto before = at_.find(key);
    if (before != at_.end()) contents_[static_cast<std::size_t>(before->second)].add(end, -size);
    if (is_last(start)) {
      if (before != at_.end()) at_.erase(before);
      return;
    }
    const std::int64_t come = roce_ ? end + fabric_.link(start.link).pause.cable.ps : start.start;
    contents_[static_cast<std::size_t>(start.link)].add(come, size);
    at_[key] = start.link;
  }
  bool is_last(const PacketStart& start) const {
    const std::string& name = fabric_.link(start.link).name;
    return name.size() > 3 && name.substr(name.size() - 3) == ".in";
  }

  Fabric fabric_;
  bool roce_;
  std::int64_t mtu_;
  PacketEngine engine_;
  std::vector<PortContents> contents_;                    // of the port at the far end of each link
  std::map<std::pair<FlowId, std::int64_t>, LinkId> at_;  // which link a packet has come by
  std::int64_t sent_ = 0;
  std::int64_t delivered_ = 0;
  bool held_back_ = false;
};

constexpr int kWorlds = 300;

// The engine asserts as it goes that no headroom is exceeded.
TEST(LosslessWorlds, LoseNothingWhereTheyPause) {
  int held_back = 0;
  int lossy = 0;
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    LosslessWorld world = draw_world(seed, NetworkKind::kRoce);
    LosslessRun run(world);
    EXPECT_EQ(run.lost(), 0);
    EXPECT_EQ(run.delivered(), run.sent());
    run.expect_within_buffers(world.cluster.network);
    held_back += run.held_back() ? 1 : 0;
    // As much buffer, for all ports together, and nobody is paused.
    if (seed % 4 > 0) continue;
    world.cluster.network.pause.on = false;
    world.cluster.network.pause.alpha = 0;
    world.cluster.network.switch_buffer = {300'000};
    const LosslessRun dropping(world);
    lossy += dropping.lost() > 0 ? 1 : 0;
    EXPECT_EQ(dropping.delivered() + dropping.lost(), dropping.sent());
  }
  EXPECT_GT(held_back, kWorlds * 3 / 4);
  EXPECT_GT(lossy, kWorlds / 8) << "half of those that were run";
}

TEST(LosslessWorlds, LoseNothingWhereTheyCountCredits) {
  int held_back = 0;
  for (std::uint64_t seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    const LosslessWorld world = draw_world(seed + 10'000, NetworkKind::kInfiniband);
    LosslessRun run(world);
    EXPECT_EQ(run.lost(), 0);
    EXPECT_EQ(run.delivered(), run.sent());
    run.expect_within_buffers(world.cluster.network);
    held_back += run.held_back() ? 1 : 0;
  }
  EXPECT_GT(held_back, kWorlds * 3 / 4);
}

}  // namespace
}  // namespace gradhaul
