// What a collective puts on links, kernels and memories: by hand, against a walk over every item,
// and against what simulated runs have moved.

#include "sim/resource_load.h"

#include <gtest/gtest.h>

#include <map>

#include "core/topology_size.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

PredictionRequest sized_request(Cluster cluster, Bytes size) {
  cluster.network.topology.leaves = 0;
  if (cluster.nodes > 1) {
    cluster.network.topology =
        size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
  }
  return request_for(cluster, size);
}

struct Counted {
  explicit Counted(const PredictionRequest& request)
      : fabric(request.cluster),
        placement(place(request.cluster, request.communication, request.workload.collective)),
        load(count_load(request, fabric, placement, request.workload.sizes[0].count / 2)) {}
  const LinkLoad& link(const std::string& name) const {
    for (std::size_t i = 0; i < fabric.links().size(); ++i) {
      if (fabric.links()[i].name == name) return load.links[i];
    }
    ADD_FAILURE() << name;
    return load.links[0];
  }
  ResourceBound largest() const {
    ResourceBound most;
    for (const ResourceBound& bound : load.bounds()) {
      if (bound.time > most.time) most = bound;
    }
    return most;
  }
  std::string name_of_largest() const {
    return fabric.resources()[static_cast<std::size_t>(largest().resource)].name;
  }
  Fabric fabric;
  Placement placement;
  ResourceLoad load;
};

Node flat_node() {
  Node node = bare_node(1, 5);
  give_latencies(node);
  node.gpu.reduce_bandwidth = 37_GBps;
  node.gpu.memory_bandwidth = 3350_GBps;
  node.nic.rate = 400_Gbps;
  return node;
}

TEST(ResourceLoad, OfARingIsTwiceAllButOnePartOnEveryHop) {
  const Bytes size = 8_MiB;
  for (const int nodes : {2, 4, 8}) {
    PredictionRequest request = sized_request(one_switch(flat_node(), nodes, 400_Gbps), size);
    request.communication.channels = 2;
    const Counted counted(request);
    const std::int64_t moved = 2 * (nodes - 1) * size.count / nodes;
    for (int node = 0; node < nodes; ++node) {
      const std::string nic = "node" + std::to_string(node) + ".nic0";
      const std::string gpu = "node" + std::to_string(node) + ".gpu0.pcie";
      for (const char* end : {".out", ".in", ".pcie.up", ".pcie.down"}) {
        EXPECT_EQ(counted.link(nic + end).payload.count, moved) << nic << end;
      }
      EXPECT_EQ(counted.link(gpu + ".up").payload.count, moved);
      EXPECT_EQ(counted.link(gpu + ".down").payload.count, moved);
      EXPECT_EQ(counted.load.sent[static_cast<std::size_t>(node)].count, moved);
    }
  }
}

// 16 MiB in two chunks of 8 MiB: 32 messages of 512 KiB each way, 128 packets each.
TEST(ResourceLoad, CountsTheFraming) {
  PredictionRequest request = sized_request(one_switch(flat_node(), 2, 400_Gbps), 16_MiB);
  request.communication.channels = 1;
  const Counted counted(request);
  const std::int64_t payload = 16 * 1024 * 1024;
  const std::int64_t messages = 32;
  const std::int64_t packets = messages * 128;
  const LinkLoad& wire = counted.link("node0.nic0.out");
  EXPECT_EQ(wire.wire.count, payload + packets * 26 + messages * (20 + 30));
  EXPECT_EQ(wire.trailing.count, messages * (46 + 30));
  EXPECT_EQ(wire.messages, messages);
  EXPECT_EQ(wire.connections, 1);
  // Completions and posted writes of 256 bytes; a read request for each packet.
  EXPECT_EQ(counted.link("node0.gpu0.pcie.up").wire.count, payload + payload / 256 * 20);
  EXPECT_EQ(counted.link("node1.gpu0.pcie.down").wire.count,
            payload + payload / 256 * 24 + packets * 24);
  EXPECT_EQ(counted.link("node1.nic0.pcie.up").wire.count,
            payload + payload / 256 * 24 + packets * 24);
}

// Through a root complex that passes TLPs on in pieces of 64 bytes.
TEST(ResourceLoad, CountsWhatARootComplexSplits) {
  Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  cluster.ranks_per_node = 1;
  PredictionRequest request = sized_request(cluster, 16_MiB);
  request.communication.channels = 2;
  const Counted counted(request);
  const std::int64_t half = 8 * 1024 * 1024;
  EXPECT_EQ(counted.link("node0.nic1.pcie.down").wire.count, half + half / 64 * 20);
  EXPECT_EQ(counted.link("node0.sw0.up").payload.count, half);
  EXPECT_EQ(counted.link("node0.gpu0.pcie.up").payload.count, 2 * half);
  EXPECT_EQ(counted.link("node0.gpu0.pcie.up").routes, 2);
}

// The figures of 14 GB over 32 GPUs: balanced rings fill the NICs, rings that hand back fill
// NVLink, and single GPUs fill their one NIC.
TEST(ResourceLoad, BoundsTheSevenBillionParameterGradient) {
  Cluster cluster = one_switch(hgx_h100(), 4, 400_Gbps);
  cluster.network.topology.kind = TopologyKind::kRailOptimized;
  cluster.network.topology.switch_ports = 64;
  PredictionRequest request = sized_request(cluster, {14'000'000'000});
  const double efficiency = 4096.0 / (4096 + 26);
  const double nic_us = 14e9 * 62 / 32 / 8 / (50e9 * efficiency) * 1e6;
  {
    const Counted counted(request);
    EXPECT_EQ(counted.name_of_largest(), "node0.nic0");
    // Acknowledgements and the first and last packets of messages: 50 bytes of 512 KiB.
    EXPECT_NEAR(counted.largest().time.microseconds(), nic_us, nic_us * 2e-4);
    EXPECT_GT(counted.largest().time.microseconds(), nic_us);
  }
  request.communication.ring_order = RingOrder::kNccl;
  {
    const Counted counted(request);
    const double nvlink_us = 14e9 * 62 / 32 / (450e9 * 0.824) * 1e6;
    EXPECT_EQ(counted.name_of_largest(), "node0.gpu0.nvlink");
    EXPECT_NEAR(counted.largest().time.microseconds(), nvlink_us, nvlink_us * 1e-4);
  }
  {
    const Counted counted(sized_request(one_switch(flat_node(), 32, 400_Gbps), {14'000'000'000}));
    EXPECT_EQ(counted.name_of_largest(), "node0.nic0");
    EXPECT_NEAR(counted.largest().time.microseconds(), 8 * nic_us, 8 * nic_us * 2e-4);
  }
}

// Credits, tags, buffers and messages bound like rates do.
TEST(ResourceLoad, BoundsByWhatIsHeldOnCredit) {
  Cluster cluster = one_switch(flat_node(), 2, 400_Gbps);
  const auto bound_us = [&](const Cluster& changed) {
    PredictionRequest request = sized_request(changed, 64_MiB);
    request.communication.channels = 1;
    return Counted(request).largest().time.microseconds();
  };
  const double payload = 64.0 * 1024 * 1024;
  // 8 TLPs of 256 bytes every 200 ns: 10.24 GB/s.
  Cluster few_credits = cluster;
  few_credits.node.pcie_settings.posted_data_credits = 128;
  EXPECT_NEAR(bound_us(few_credits), payload / 10.24e9 * 1e6, 1);
  // 4 reads of 4096 bytes in what a read takes: twice 20 ns + 125 ns of links, and the GPU's 700
  // ns.
  Cluster few_tags = cluster;
  few_tags.node.pcie_settings.tags = 4;
  const double reading = 2 * 145e-9 + 700e-9;
  EXPECT_NEAR(bound_us(few_tags), payload / (4 * 4096 / reading) * 1e6, 1);
  // A buffer of four packets is held for as long, and for the NIC's own time.
  Cluster small_buffer = cluster;
  small_buffer.node.nic.transmit_buffer = 16_KiB;
  EXPECT_NEAR(bound_us(small_buffer), payload / (16'384 / (reading + 199e-9)) * 1e6, 1);
  // 10,000 messages a second.
  Cluster slow_messages = cluster;
  slow_messages.node.nic.message_rate = 10'000;
  EXPECT_NEAR(bound_us(slow_messages), (2 * 64 - 1) * 100.0, 1e-6);
}

// --- Walked, item by item -----------------------------------------------------------------------

class Recorder final : public TrafficSink {
 public:
  void on_connection(const ConnectionTraffic& traffic) override {
    auto& sizes = connections[traffic.key];
    EXPECT_TRUE(sizes.empty()) << "each connection is told once";
    for (int i = 0; i < traffic.sizes; ++i) {
      const MessageCount& messages = traffic.by_size[static_cast<std::size_t>(i)];
      sizes[messages.size.count] += messages.count;
    }
  }
  void on_kernel(Rank rank, int channel, const KernelTraffic& traffic) override {
    kernels[{rank, channel}] = {traffic.operations, traffic.bytes.count, traffic.memory.count};
  }
  void on_rank_end(Rank rank) override { ranks.push_back(rank); }

  std::map<ConnectionKey, std::map<std::int64_t, std::int64_t>> connections;
  std::map<std::pair<Rank, int>, std::array<std::int64_t, 3>> kernels;
  std::vector<Rank> ranks;
};

TEST(ConnectionTraffic, OfRingsIsWhatAWalkOverTheItemsCounts) {
  for (const int nodes : {2, 3, 5, 8, 13}) {
    for (const int channels : {1, 3}) {
      for (const std::int64_t count : {0, 1, 2, 7, 100, 1001, 65'537}) {
        for (const std::int64_t slot : {2, 10, 256, 1'000'000}) {
          PredictionRequest request =
              sized_request(one_switch(flat_node(), nodes, 400_Gbps), {2 * count});
          request.communication.channels = channels;
          request.communication.slot_size = {slot};
          const Placement placement =
              place(request.cluster, request.communication, request.workload.collective);
          Recorder walked;
          walk_traffic(request, *chunk_schedule(request, placement, count), walked);
          Recorder known;
          count_traffic(request, placement, count, known);
          EXPECT_EQ(known.connections, walked.connections) << nodes << " " << count << " " << slot;
          EXPECT_EQ(known.kernels, walked.kernels) << nodes << " " << count << " " << slot;
          EXPECT_EQ(known.ranks, walked.ranks);
        }
      }
    }
  }
}

// With real slots every slice is an item of its own.
TEST(ConnectionTraffic, OfChunksIsThatOfTheirSlices) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const std::int64_t count : {1, 10, 1000, 4097}) {
      PredictionRequest request = sized_request(one_switch(flat_node(), 5, 400_Gbps), {2 * count});
      request.workload.collective = collective;
      if (collective == Collective::kAllReduce) {
        request.communication.algorithm = Algorithm::kDoubleBinaryTree;
      }
      request.communication.channels = 2;
      request.communication.slot_size = {64};
      const Placement placement =
          place(request.cluster, request.communication, request.workload.collective);
      Recorder chunks;
      walk_traffic(request, *chunk_schedule(request, placement, count), chunks);
      const std::unique_ptr<Schedule> sliced =
          make_schedule(schedule_request(request, count), placement);
      std::map<ConnectionKey, std::map<std::int64_t, std::int64_t>> messages;
      for (Rank rank = 0; rank < sliced->ranks(); ++rank) {
        for (int channel = 0; channel < sliced->channels(); ++channel) {
          for (int lane = 0; lane < sliced->lanes(); ++lane) {
            for (std::int64_t i = 0; i < sliced->items(rank, channel, lane); ++i) {
              const Item item = sliced->item(rank, channel, lane, i);
              for (int s = 0; s < item.send_count; ++s) {
                const ItemSend& send = item.sends[static_cast<std::size_t>(s)];
                if (send.span.count == 0) continue;
                ++messages[{channel, rank, send.peer, send.stream}][2 * send.span.count];
              }
            }
          }
        }
      }
      EXPECT_EQ(chunks.connections, messages) << count;
    }
  }
}

// --- Simulated ----------------------------------------------------------------------------------

// Bytes of every resource in both directions are those that a run has moved.
void expect_same_bytes(const PredictionRequest& request) {
  PredictionRequest closed = request;
  closed.fidelity = Fidelity::kAnalytic;
  const Prediction simulated = predict(request);
  const Prediction counted = predict(closed);
  EXPECT_EQ(counted.rows[0].bytes_sent_per_rank, simulated.rows[0].bytes_sent_per_rank);
  std::map<std::string, std::int64_t> bytes;
  for (const ResourceUse& use : simulated.resources) bytes[use.name] = use.bytes.count;
  for (const ResourceUse& use : counted.resources) {
    EXPECT_EQ(use.bytes.count, bytes[use.name]) << use.name;
    bytes.erase(use.name);
  }
  for (const auto& [name, count] : bytes) EXPECT_EQ(count, 0) << name;
}

TEST(ResourceLoad, IsWhatSimulatedRunsMove) {
  const struct {
    Collective collective;
    Algorithm algorithm;
  } kinds[] = {{Collective::kAllReduce, Algorithm::kRing},
               {Collective::kAllReduce, Algorithm::kDoubleBinaryTree},
               {Collective::kAllToAll, Algorithm::kRing},
               {Collective::kSendRecv, Algorithm::kRing}};
  Node peers = bare_node(4, 5);
  give_latencies(peers);
  for (const Node& node : {flat_node(), hgx_h100(), dgx_a100(), peers}) {
    for (const int nodes : {1, 2, 3}) {
      if (nodes * node.gpu_count < 2) continue;
      for (const auto& kind : kinds) {
        PredictionRequest request = sized_request(one_switch(node, nodes, 400_Gbps), {1'234'568});
        request.workload.collective = kind.collective;
        request.communication.algorithm = kind.algorithm;
        SCOPED_TRACE(node.name + " x" + std::to_string(nodes) + ", kind " +
                     std::to_string(static_cast<int>(kind.collective)));
        expect_same_bytes(request);
        request.communication.ring_order = RingOrder::kNccl;
        if (kind.algorithm == Algorithm::kRing) expect_same_bytes(request);
      }
    }
  }
}

// Six messages each way: a turn for each post, each arrival, each completion of a write, and each
// credit's post and arrival. Of the last message nobody waits for what comes behind its arrival.
TEST(ResourceLoad, CountsTheTurnsOfThreads) {
  PredictionRequest request = sized_request(one_switch(flat_node(), 4, 400_Gbps), 64_KiB);
  request.communication.channels = 1;
  const Duration post = request.cluster.node.nic.post;
  ASSERT_GT(post, Duration{});
  EXPECT_EQ(Counted(request).load.thread_time(), Duration{});
  const Duration turn = 650_ns;
  request.communication.thread_step = turn;
  const ResourceLoad simple = Counted(request).load;
  EXPECT_EQ(simple.thread_bound(), turn * 12 + post * 6);
  EXPECT_EQ(simple.thread_time(), turn * (12 + 15) + post * (6 + 5));
  // A read back: one turn to post it, one for its completion.
  request.communication.flush = Flush::kOn;
  EXPECT_EQ(Counted(request).load.thread_bound(), turn * (12 + 12) + post * 12);
  // Kernels poll for what comes, and nobody for what has been sent.
  request.communication.protocol = Protocol::kLl128;
  const ResourceLoad lines = Counted(request).load;
  EXPECT_EQ(lines.thread_bound(), (turn + post) * 6);
  EXPECT_EQ(lines.thread_time(), (turn + post) * 6 + turn * 5 + (turn + post) * 5);
}

TEST(ResourceLoad, SaysWhereNoPathLeads) {
  Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  cluster.node.root_complex.peer_to_peer_across_sockets = BitRate{0};
  cluster.ranks_per_node = 1;
  PredictionRequest request = sized_request(cluster, 1_MiB);
  request.communication.channels = 8;
  EXPECT_THROW(Counted{request}, SimulationError);
  request.fidelity = Fidelity::kAnalytic;
  EXPECT_THROW(predict(request), SimulationError);
}

}  // namespace
}  // namespace gradhaul
