// The packet model's transport and kernels under the one suite. They carry no bytes, so that what
// is checked is order, counts and limits.

#include <memory>
#include <vector>

#include "tests/conformance/transport_conformance.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/transport_world.h"

namespace gradhaul::conformance {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

class SimulatedWorld final : public ConformanceWorld {
 public:
  SimulatedWorld(const WorldShape& shape, const Cluster& cluster, int queue_pairs,
                 bool splits = false)
      : world_(cluster, communication(shape, queue_pairs, splits), shape.connections,
               streams(shape)) {}

  Transport& transport(Rank rank) override { return world_.transport(rank); }
  Reducer& reducer(Rank rank) override { return world_.reducer(rank); }
  void connect(Rank rank, CompletionSink& sink) override { world_.connect(rank, sink); }
  bool step() override { return world_.step(); }
  std::span<std::byte> memory(Rank /*rank*/, Region /*region*/) override { return {}; }

 private:
  // Channels are no more than the keys name; reductions have a stream for each channel or, in the
  // suite's own traffic, for each connection.
  static Communication communication(const WorldShape& shape, int queue_pairs, bool splits) {
    Communication communication;
    std::int32_t channels = 1;
    for (const auto& ends : shape.connections) {
      for (const ConnectionEnd& end : ends) channels = std::max(channels, end.key.channel + 1);
    }
    communication.channels = channels;
    // Bounds what is in flight; the suite wants one limit, whatever slots a world has.
    communication.slots = 32;
    communication.slot_size = shape.slot_size;
    communication.queue_pairs = queue_pairs;
    communication.splits_over_queue_pairs = splits;
    return communication;
  }
  static int streams(const WorldShape& shape) {
    std::size_t most = 1;
    for (const auto& ends : shape.connections) {
      most = std::max(most, ends.size());
      for (const ConnectionEnd& end : ends) {
        most = std::max(most, static_cast<std::size_t>(end.key.channel) + 1);
      }
    }
    return static_cast<int>(most);
  }

  TransportWorld world_;
};

Node small_node() {
  Node node = bare_node(1, 5);
  give_latencies(node);
  node.gpu.reduce_bandwidth = 37_GBps;
  node.gpu.memory_bandwidth = 3350_GBps;
  return node;
}

// A node for each rank, one switch; the seed shifts who is quick, and with it the order of
// deliveries.
template <int kQueuePairs, bool kSplits = false>
class OverInfiniband final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    Cluster cluster = one_switch(small_node(), std::max(2, shape.ranks()), 400_Gbps);
    cluster.node.gpu.flag_latency += Duration{static_cast<std::int64_t>(seed % 7) * 100'000};
    cluster.node.nic.receive_latency += Duration{static_cast<std::int64_t>(seed % 5) * 77'777};
    if (seed % 3 == 1) cluster.network.vl_buffer = {8192};
    return std::make_unique<SimulatedWorld>(shape, cluster, kQueuePairs, kSplits);
  }
};

// All ranks in one node.
template <int kQueuePairs>
class OverNvlink final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    Node node = bare_node(std::max(2, shape.ranks()), 5);
    give_latencies(node);
    node.nvlink = Nvlink{450_GBps, 0.824, {700'000 + static_cast<std::int64_t>(seed % 5) * 1000}};
    return std::make_unique<SimulatedWorld>(shape, one_switch(node, 1, 400_Gbps), kQueuePairs);
  }
};

// Two to a node, peers writing through PCIe, nodes by a NIC that they share: every kind of path.
class OverSharedNics final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t /*seed*/) const override {
    Node node = small_node();
    node.gpu_count = 2;
    node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {"gpu0", "gpu1"}},
                 {"", "socket0", std::nullopt, {"nic0"}}};
    node.nic.message_rate = 10'000'000;
    node.pcie_settings.posted_header_credits = 4;
    return std::make_unique<SimulatedWorld>(
        shape, one_switch(node, std::max(1, (shape.ranks() + 1) / 2), 100_Gbps), 3);
  }
};

using SimulatedTransports =
    testing::Types<OverInfiniband<1>, OverInfiniband<2>, OverInfiniband<3, true>, OverNvlink<1>,
                   OverNvlink<2>, OverSharedNics>;
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, TransportConformance, SimulatedTransports);

}  // namespace
}  // namespace gradhaul::conformance
