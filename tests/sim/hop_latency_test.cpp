// What a single message costs between idle ends, by hand and against a simulated run of it.

#include "sim/hop_latency.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/topology_size.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Cluster sized(Cluster cluster) {
  if (cluster.nodes > 1) {
    cluster.network.topology.leaves = 0;
    cluster.network.topology =
        size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
  }
  return cluster;
}

// One GPU of each of two nodes, or two of one.
Cluster two_ranks(const Node& node, bool across) {
  Cluster cluster = one_switch(node, across ? 2 : 1, node.nic.rate);
  cluster.ranks_per_node = across ? 1 : 2;
  return sized(cluster);
}

Hop first_to_last(const Cluster& cluster) {
  Communication communication;
  communication.channels = 1;
  const Placement placement = place(cluster, communication, Collective::kSendRecv);
  return hop_between(placement, cluster, 0, 0, 1);
}

Node paced(Node node) {
  node.nic.rate = 400_Gbps;
  return node;
}

struct NamedNode {
  const char* name;
  Node node;
};

std::vector<NamedNode> nodes() {
  Node small_reads = hgx_h100();
  small_reads.pcie_settings.max_read_request = Bytes{512};
  Node few_tags = hgx_h100();
  few_tags.pcie_settings.tags = 12;
  Node small_buffer = hgx_h100();
  small_buffer.nic.transmit_buffer = 16_KiB;
  Node peers = bare_node(2, 4);
  give_latencies(peers);
  return {{"bare generation 3", paced(bare_node(2, 3))},
          {"bare generation 5", paced(bare_node(2, 5))},
          {"GPUs that write through PCIe", paced(peers)},
          {"dgx-a100", dgx_a100()},
          {"hgx-h100", hgx_h100()},
          {"reads of 512 B", small_reads},
          {"12 tags", few_tags},
          {"a buffer of four packets", small_buffer}};
}

std::string trace_of(const NamedNode& named, bool across, std::int64_t number) {
  return std::string(named.name) + (across ? ", two nodes, " : ", one node, ") +
         std::to_string(number);
}

TEST(HopLatency, IsThatOfASimulatedMessageToThePicosecond) {
  for (const NamedNode& named : nodes()) {
    for (const bool across : {true, false}) {
      const Cluster cluster = two_ranks(named.node, across);
      const Fabric fabric(cluster);
      HopLatency latency(fabric, cluster.ranks_per_node);
      // Posted credits do not cover the way through a root complex at generation 5.
      const std::int64_t slack = !across && !named.node.nvlink ? 1'000 : 0;
      for (const std::int64_t size : {1, 1000, 4096, 4097, 65'536, 300'000, 524'288}) {
        SCOPED_TRACE(trace_of(named, across, size));
        const WriteStream simulated(cluster, {.length = {size}});
        const MessageTime closed = latency.message(first_to_last(cluster), {size});
        EXPECT_LE(std::abs(closed.arrived.ps - simulated.arrived().at(0)), slack);
        EXPECT_LE(std::abs(closed.done.ps - simulated.done().at(0)), slack);
      }
    }
  }
}

TEST(HopLatency, SpacesTheMessageBehindIt) {
  for (const NamedNode& named : nodes()) {
    for (const bool across : {true, false}) {
      const Cluster cluster = two_ranks(named.node, across);
      const Fabric fabric(cluster);
      HopLatency latency(fabric, cluster.ranks_per_node);
      for (const std::int64_t size : {1000, 65'536, 524'288}) {
        SCOPED_TRACE(trace_of(named, across, size));
        const WriteStream simulated(cluster, {.length = {size}, .writes = 8});
        const std::vector<std::int64_t>& arrived = simulated.arrived();
        const MessageTime closed = latency.message(first_to_last(cluster), {size});
        EXPECT_EQ(closed.spacing.ps, arrived.at(1) - arrived.at(0));
        // Steady from there, but for what each is rounded.
        const auto steady = static_cast<double>(arrived.at(7) - arrived.at(1)) / 6;
        EXPECT_NEAR(static_cast<double>(closed.spacing.ps), steady, 1 + 0.02 * steady);
      }
    }
  }
}

// A relay hands the data over NVLink to the GPU beside the NIC first, whole.
TEST(HopLatency, CountsTheRelay) {
  const Cluster cluster = sized(one_switch(hgx_h100(), 2, 400_Gbps));
  const Fabric fabric(cluster);
  HopLatency latency(fabric, 8);
  const Hop direct{.source = 0, .destination = 8, .source_nic = 0, .destination_nic = 0};
  const Hop relayed{
      .source = 7, .destination = 8, .source_nic = 0, .destination_nic = 0, .relay_gpu = 0};
  const Hop handed{.source = 7, .destination = 0};
  EXPECT_EQ(latency.message(relayed, 512_KiB).arrived,
            latency.message(direct, 512_KiB).arrived + latency.message(handed, 512_KiB).arrived);
}

// n bytes posted at t arrive at t + 1 us + n / (50 GB/s); the rest costs nothing.
TEST(HopLatency, OfTheIdealWorldIsItsDefinition) {
  const Cluster cluster = sized(ideal_cluster(2));
  const Fabric fabric(cluster);
  HopLatency latency(fabric, 1);
  const Hop hop{.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
  const MessageTime message = latency.message(hop, {5'000'000});
  EXPECT_EQ(message.arrived, 101_us);
  EXPECT_EQ(message.done, 101_us);
  EXPECT_EQ(message.spacing, 100_us);
  EXPECT_EQ(latency.slot_return(hop), 0_us);
}

// NVLink alone: latency and the payload at its effective rate, and the slot's store the same way.
TEST(HopLatency, OverNvlinkIsLatencyAndPayload) {
  const Cluster cluster = sized(one_switch(hgx_h100(), 1, 400_Gbps));
  const Fabric fabric(cluster);
  HopLatency latency(fabric, 8);
  const Hop hop{.source = 2, .destination = 5};
  EXPECT_EQ(latency.message(hop, {370'800'000}).arrived, 700_ns + 1000_us);
  EXPECT_EQ(latency.slot_return(hop), 700_ns);
  EXPECT_EQ(latency.kernel(0, ReduceKind::kReduce, {37'000'000}), 1000_us);
}

// Without PCIe and NVLink the GPUs of a node are one, and their messages there at once.
TEST(HopLatency, IsNothingWhereNothingIsInTheWay) {
  Cluster cluster = ideal_cluster(1);
  cluster.node.gpu_count = 2;
  cluster.ranks_per_node = 2;
  const Fabric fabric(cluster);
  HopLatency latency(fabric, 2);
  for (const std::int64_t size : {1, 16'384, 1'000'000}) {
    const WriteStream simulated(cluster, {.length = {size}, .writes = 3});
    EXPECT_EQ(simulated.arrived(), (std::vector<std::int64_t>{0, 0, 0}));
    EXPECT_EQ(latency.message(first_to_last(cluster), {size}).arrived, Duration{});
  }
}

TEST(HopLatency, PartsAddUp) {
  for (const NamedNode& named : nodes()) {
    for (const bool across : {true, false}) {
      const Cluster cluster = two_ranks(named.node, across);
      const Fabric fabric(cluster);
      HopLatency latency(fabric, cluster.ranks_per_node);
      const Hop hop = first_to_last(cluster);
      const Trace parts = latency.message_parts(hop, 512_KiB);
      EXPECT_EQ(parts.total(), latency.message(hop, 512_KiB).arrived.ps) << named.name;
      for (int i = 0; i < parts.count; ++i) {
        EXPECT_GT(parts.parts[static_cast<std::size_t>(i)].ps, 0);
      }
    }
  }
}

TEST(HopLatency, SaysWhereNoPathLeads) {
  Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  cluster.network.topology.kind = TopologyKind::kBackToBack;
  const Fabric fabric(cluster);
  HopLatency latency(fabric, 8);
  const Hop crossed{.source = 0, .destination = 8, .source_nic = 0, .destination_nic = 1};
  EXPECT_THROW(latency.message(crossed, 4_KiB), SimulationError);
}

}  // namespace
}  // namespace gradhaul
