// Worlds drawn from all that the packet model knows: what is skipped, for recurrence or symmetry,
// and what is stepped by stations, gives what simulating every packet by events gives, to the last
// number. Where something is drawn as it runs, nothing is skipped.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "core/topology_size.h"
#include "tests/sim/random_nodes.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

struct World {
  PredictionRequest request;
  std::map<std::string, int> has;  // mechanisms
  bool draws = false;              // something that may differ from one period to the next
};

class WorldDrawer {
 public:
  explicit WorldDrawer(std::uint64_t seed) : draws_(seed), seed_(seed) {}

  World draw() {
    base();
    network();
    if (cluster().network.kind == NetworkKind::kEthernet) {
      tcp();
    } else {
      host_path();
      threads();
      nics();
      losses();
      receives();
    }
    plan();
    more_of_hosts();
    more_of_networks();
    other_patterns();
    if (!cluster().network.tcp && has("split writes", 3)) {
      communication().splits_over_queue_pairs = true;
      if (one_in(2)) communication().queue_pairs = static_cast<int>(draws_.between(2, 4));
    }
    Communication& plan = communication();
    if (!cluster().network.tcp && plan.registering == Registering::kOnce &&
        has("cached registration", 8)) {
      plan.registering = Registering::kCached;
    }
    world_.request.seed = seed_;
    return std::move(world_);
  }

 private:
  Cluster& cluster() { return world_.request.cluster; }
  Communication& communication() { return world_.request.communication; }
  bool one_in(std::int64_t many) { return draws_.below(many) == 0; }
  // One in `many` worlds has it.
  bool has(const std::string& name, std::int64_t many) {
    if (!one_in(many)) return false;
    ++world_.has[name];
    return true;
  }
  bool has_drawn(const std::string& name, std::int64_t many) {
    if (!has(name, many)) return false;
    return world_.draws = true;
  }

  void base() {
    Node node = one_in(3) ? random_node(draws_) : bare_node(static_cast<int>(pairs()), 5);
    if (one_in(3)) draw_rates(node, draws_);
    give_latencies(node);
    node.pcie_settings.tags = static_cast<int>(draws_.between(4, 64));
    node.pcie_settings.posted_header_credits = static_cast<int>(draws_.between(4, 80));
    node.pcie_settings.credit_loop = {draws_.between(150, 900) * 1000};
    node.gpu.reduce_bandwidth = BitRate{draws_.between(20, 60) * 8'000'000'000};
    node.gpu.copy_setup = {draws_.between(0, 6) * 1'000'000};
    node.host_memory_bandwidth = BitRate{draws_.between(20, 200) * 8'000'000'000};
    node.host_memory_latency = 90_ns;
    const BitRate link{draws_.between(40, 400) * 1'000'000'000};
    cluster() = one_switch(node, static_cast<int>(draws_.between(2, 6)), link);
    if (has("straggler", 6)) cluster().faults.gpus = {{0, 0, 1.7}};
  }
  std::int64_t pairs() { return draws_.between(1, 3); }

  void network() {
    Network& network = cluster().network;
    network.mtu = {1024 << draws_.below(3)};
    network.vl_buffer = {draws_.between(8, 64) * 1024};
    if (has("TCP", 6)) {
      network.kind = NetworkKind::kEthernet;
      return;
    }
    if (has("RoCE", 3)) make_roce(cluster(), draws_);
    const bool roce = network.kind == NetworkKind::kRoce;
    if (has("leaves", 3)) {
      network.topology = {};
      network.topology.kind = TopologyKind::kLeafSpine;
      network.topology.switch_ports = 16;
      network.topology.leaves = 2;
      network.oversubscription = 100;
      network.topology.spines = 2;
      network.topology.uplinks_per_leaf = 2;
      network.topology = size_topology(network, cluster().nodes, cluster().node.nic_count).topology;
      if (has_drawn("adaptive", 4)) network.routing = Routing::kAdaptive;
      if (roce && has_drawn("spray", 4)) network.routing = Routing::kSpray;
    } else if (cluster().nodes >= 3 && has("ring of leaves", 3)) {
      const std::array ways{RingWay::kShortest, RingWay::kClockwise, RingWay::kUpDown};
      network.topology = {};
      network.topology.kind = TopologyKind::kRing;
      network.topology.switch_ports = 16;
      network.topology.leaves = cluster().nodes;
      network.topology.way = ways[static_cast<std::size_t>(draws_.below(3))];
      network.topology = size_topology(network, cluster().nodes, cluster().node.nic_count).topology;
    }
    if (has("slow link", 5)) {
      cluster().faults.links = {{"node1.nic0", BitRate{20'000'000'000}, {}, {}}};
    }
    if (!roce) return;
    if (has("DCQCN", 3)) network.congestion = quick_dcqcn();
    if (has_drawn("dropping", 4)) network.pause.on = false;
    if (network.pause.on && has("storm", 6)) {
      cluster().faults.storms = {{"node1.nic0", 20_us, 30_us}};
    }
    if (network.pause.on && has_drawn("PFC off", 8)) cluster().faults.pfc_off = {{"node0.nic0"}};
  }

  void tcp() {
    Network& network = cluster().network;
    TcpSettings settings;
    settings.sockets = static_cast<int>(draws_.between(1, 3));
    settings.cores = static_cast<int>(draws_.between(1, 2));
    network.mtu = {one_in(2) ? 8948 : 1448};
    network.tcp = settings;
    communication().gpudirect = GpuDirect::kOff;
    world_.draws = true;  // what cores have to do is not compared
  }

  void host_path() {
    PcieSettings& pcie = cluster().node.pcie_settings;
    if (has("staging", 4)) communication().gpudirect = GpuDirect::kOff;
    if (has("ACS", 5)) pcie.acs = true;
    if (has("IOMMU", 6)) pcie.iommu = true;
    if (has("strict ordering", 6)) pcie.relaxed_ordering = false;
    if (cluster().node.sockets > 1 && has("far thread", 2)) cluster().faults.far_threads = {1};
  }

  void threads() {
    Communication& plan = communication();
    if (has("thread", 4)) plan.thread_step = {draws_.between(1, 700) * 1000};
    if (has("interrupts", 6)) {
      plan.sleeps = true;
      plan.wake_up = 3'500_ns;
    }
    if (has("registration", 8)) plan.registering = Registering::kPerTransfer;
    if (has("flush", 5)) plan.flush = Flush::kOn;
    if (has("BlueFlame", 5)) plan.blue_flame = Bytes{4096};
  }

  void nics() {
    NicModel& nic = cluster().node.nic;
    if (has("message rate", 5)) nic.message_rate = draws_.between(1, 20) * 1'000'000;
    if (has("queue pair rate", 6)) nic.queue_pair_rate = draws_.between(1, 4) * 1'000'000;
    if (has("contexts", 6)) {
      nic.queue_pair_cache = 2;
      nic.memory_region_cache = 1;
      nic.context_fetch = 600_ns;
    }
    if (one_in(2)) nic.retransmission = Retransmission::kSelectiveRepeat;
    if (one_in(4)) nic.out_of_order = OutOfOrder::kNak;
  }

  void losses() {
    Faults& faults = cluster().faults;
    communication().timeout = static_cast<int>(draws_.between(4, 7));
    if (has_drawn("bit errors", 5)) faults.errors = {{"node0.nic0", 1e-7, 0}};
    if (has_drawn("link down", 8)) faults.down = {{"node1.nic0", 15_us, 3_us}};
  }

  void receives() {
    if (has_drawn("late receives", 8)) cluster().faults.late_receives = {{1, 30_us}};
  }

  void plan() {
    PredictionRequest& request = world_.request;
    Communication& plan = communication();
    plan.channels = static_cast<int>(draws_.between(1, 3));
    plan.slots = static_cast<int>(draws_.between(1, 8));
    plan.slot_size = {1024 << draws_.below(6)};
    plan.rnr_timer = 1;
    if (!cluster().network.tcp) plan.queue_pairs = static_cast<int>(draws_.between(1, 3));
    if (!cluster().network.tcp && plan.slots > 1 && has_drawn("few receives", 8)) {
      plan.receives = plan.slots - 1;
    }
    const std::array protocols{Protocol::kSimple, Protocol::kLl, Protocol::kLl128};
    if (has("lines", 5)) plan.protocol = protocols[static_cast<std::size_t>(draws_.between(1, 2))];
    const std::int64_t ranks = cluster().ranks();
    // Of every second one all chunks are alike.
    const std::int64_t even = 2 * draws_.between(1, 4'000) * plan.channels.value() * ranks;
    request.workload.datatype = DataType::kBf16;
    request.workload.sizes = {one_in(2) ? Bytes{even} : Bytes{draws_.between(1, 400) * 1000}};
    const std::int64_t pattern = draws_.below(6);
    if (pattern == 1) {
      request.workload.collective = Collective::kAllToAll;
      plan.algorithm = Algorithm::kPairwise;
    } else if (pattern == 2) {
      plan.algorithm = Algorithm::kDoubleBinaryTree;
    } else if (pattern == 3) {
      plan.algorithm = Algorithm::kParameterServer;
    }
  }

  void more_of_hosts() {
    Node& node = cluster().node;
    if (node.sockets > 1 && cluster().faults.far_threads.empty() && has("placed threads", 2)) {
      const bool one = one_in(2);
      cluster().threads = {one ? ThreadPlacement::At::kOne : ThreadPlacement::At::kOther,
                           one ? static_cast<int>(draws_.below(node.sockets)) : 0};
    }
    if (!node.pcie.empty() && node.nic.pcie && has("narrow PCIe", 5)) {
      cluster().faults.links.push_back({"node1.nic0.pcie", {}, 4, one_in(2) ? 3 : 1});
    }
    if (node.nvlink && has("slow NVLink", 3)) {
      cluster().faults.links.push_back({"node0.gpu0.nvlink", BitRate{80'000'000'000}, {}, {}});
    }
  }

  void more_of_networks() {
    Network& network = cluster().network;
    const bool rdma = !network.tcp;
    const bool plain = network.topology.kind == TopologyKind::kSingleSwitch;
    if (network.kind == NetworkKind::kInfiniband && rdma && has("IPoIB", 8)) {
      // What lossy links, NICs and threads of RDMA have is none of a socket's.
      cluster().faults = {};
      communication() = Communication{};
      world_.request.workload.collective = Collective::kAllReduce;
      cluster().threads = {};
      tcp();
      network.mtu = {one_in(2) ? 4092 : 2044};
      plan();
    }
    if (network.kind == NetworkKind::kRoce && plain && has("bonded ports", 3)) {
      cluster().node.bonded_nics = true;
      network.routing = Routing::kEcmp;
      network.topology.switch_ports = 0;
      communication().queue_pairs = static_cast<int>(draws_.between(1, 5));
    }
  }

  void other_patterns() {
    if (!one_in(3)) return;
    Workload& workload = world_.request.workload;
    Communication& plan = communication();
    const auto take = [&](const std::string& name, Collective collective, Algorithm algorithm) {
      ++world_.has[name];
      workload.collective = collective;
      plan.algorithm = algorithm;
    };
    switch (draws_.below(7)) {
      case 0:
        return take("tree", Collective::kAllReduce, Algorithm::kTree);
      case 1:
        if (cluster().ranks_per_node < 2) return;
        return take("hierarchical", Collective::kAllReduce, Algorithm::kHierarchical);
      case 2:
        return take("halving", Collective::kAllReduce, Algorithm::kHalvingDoubling);
      case 3:
        return take("recursive", Collective::kAllReduce, Algorithm::kRecursiveDoubling);
      case 4:
        return take("reduce_scatter", Collective::kReduceScatter, Algorithm::kRing);
      case 5:
        return take("all_gather", Collective::kAllGather, Algorithm::kRing);
      default:
        return take("broadcast", Collective::kBroadcast, Algorithm::kRing);
    }
  }

  Draws draws_;
  std::uint64_t seed_;
  World world_;
};

bool marks_any(const Prediction& prediction) {
  return std::any_of(prediction.counters.begin(), prediction.counters.end(),
                     [](const PortCounters& port) { return port.ecn_marked > 0; });
}

class RandomMechanisms : public testing::TestWithParam<int> {
 protected:
  static constexpr int kEach = 20;
};

TEST_P(RandomMechanisms, AreTheSameHoweverTheyAreStepped) {
  for (int i = 0; i < kEach; ++i) {
    const auto seed = static_cast<std::uint64_t>(kEach * GetParam() + i + 31'000);
    World world = WorldDrawer(seed).draw();
    std::string named;
    for (const auto& [name, count] : world.has) named += " " + name + ",";
    SCOPED_TRACE(testing::Message() << "world " << seed << ":" << named);
    PredictionRequest by_events = world.request;
    by_events.stepping = Stepping::kEvents;
    Prediction full;
    try {
      full = in_full(by_events);
    } catch (const SimulationError&) {
      continue;  // ranks that do not reach each other
    }
    const Prediction quick = predict(world.request);
    ASSERT_EQ(quick.failure, full.failure);
    expect_same(quick, full);
    if (world.draws || marks_any(full)) {
      EXPECT_EQ(quick.cost.skipped_packet_hops, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMechanisms, testing::Range(0, 50));

constexpr const char* kMechanisms[] = {"straggler",
                                       "TCP",
                                       "RoCE",
                                       "leaves",
                                       "ring of leaves",
                                       "adaptive",
                                       "spray",
                                       "slow link",
                                       "DCQCN",
                                       "dropping",
                                       "storm",
                                       "PFC off",
                                       "staging",
                                       "ACS",
                                       "IOMMU",
                                       "strict ordering",
                                       "far thread",
                                       "thread",
                                       "interrupts",
                                       "registration",
                                       "flush",
                                       "BlueFlame",
                                       "message rate",
                                       "queue pair rate",
                                       "contexts",
                                       "bit errors",
                                       "link down",
                                       "late receives",
                                       "few receives",
                                       "lines",
                                       "placed threads",
                                       "narrow PCIe",
                                       "IPoIB",
                                       "bonded ports",
                                       "tree",
                                       "hierarchical",
                                       "halving",
                                       "recursive",
                                       "reduce_scatter",
                                       "all_gather",
                                       "broadcast",
                                       "split writes",
                                       "cached registration"};

// So that the worlds above are not all of one kind: each mechanism is in many of them, most end
// well, and some of those without draws are skipped in part.
TEST(RandomMechanismsTogether, MeetEachOther) {
  std::map<std::string, int> met;
  int skipped = 0;
  int without_draws = 0;
  for (std::uint64_t seed = 31'000; seed < 31'400; ++seed) {
    World world = WorldDrawer(seed).draw();
    for (const auto& [name, count] : world.has) met[name] += count;
    if (world.draws) continue;
    ++without_draws;
    if (seed % 4 > 0) continue;
    try {
      if (predict(world.request).cost.skipped_packet_hops > 0) ++skipped;
    } catch (const SimulationError&) {
      continue;
    }
  }
  for (const char* name : kMechanisms) {
    EXPECT_GE(met[name], 4) << name;
  }
  EXPECT_GT(without_draws, 60);
  EXPECT_GT(skipped, 5);
}

}  // namespace
}  // namespace gradhaul
