// Periods that recur are accounted for at once, and the answer is the one that simulating every
// packet gives, to the last number.

#include <gtest/gtest.h>

#include <optional>

#include "tests/sim/random_nodes.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Whatever a cluster of two to five small nodes can be.
PredictionRequest random_request(std::uint64_t seed) {
  Draws draws(seed);
  Node node = random_node(draws);
  draw_rates(node, draws);
  if (draws.below(4) > 0) give_latencies(node);
  node.pcie_settings.tags = static_cast<int>(draws.between(1, 64));
  node.pcie_settings.max_payload = {128 << draws.below(3)};
  node.pcie_settings.posted_header_credits = static_cast<int>(draws.between(1, 80));
  node.pcie_settings.credit_loop = {draws.between(150, 900) * 1000};
  node.gpu.reduce_bandwidth = BitRate{draws.between(20, 60) * 8'000'000'000};
  const auto nodes = static_cast<int>(draws.between(2, 5));
  Cluster cluster = one_switch(node, nodes, BitRate{draws.between(20, 500) * 1'000'000'000});
  cluster.network.mtu = {1024 << draws.below(3)};
  cluster.network.vl_buffer = {draws.between(8, 64) * 1024};
  PredictionRequest request = request_for(cluster, {draws.between(1, 600) * 1000});
  if (draws.below(4) == 0) request.workload.collective = Collective::kAllToAll;
  if (draws.below(4) == 0) request.communication.algorithm = Algorithm::kDoubleBinaryTree;
  request.communication.channels = static_cast<int>(draws.between(1, 4));
  request.communication.slots = static_cast<int>(draws.between(1, 8));
  request.communication.slot_size = {1024 << draws.below(6)};
  request.communication.queue_pairs = static_cast<int>(draws.between(1, 3));
  if (request.workload.collective == Collective::kAllToAll) {
    request.communication.algorithm = Algorithm::kPairwise;
  }
  if (draws.below(3) == 0) make_roce(request.cluster, draws);
  if (draws.below(3) == 0) {
    Node& staged = request.cluster.node;
    request.communication.gpudirect = GpuDirect::kOff;
    staged.gpu.copy_setup = {draws.between(0, 6) * 1'000'000};
    staged.host_memory_bandwidth = BitRate{draws.between(10, 200) * 8'000'000'000};
    staged.pcie_settings.acs = draws.below(2) == 0;
    staged.pcie_settings.iommu = draws.below(3) == 0;
    staged.pcie_settings.relaxed_ordering = draws.below(3) > 0;
  }
  return request;
}

class RandomWorld : public testing::TestWithParam<int> {};

TEST_P(RandomWorld, IsTheSameWhenPeriodsAreSkipped) {
  for (int i = 0; i < 5; ++i) {
    const auto seed = static_cast<std::uint64_t>(5 * GetParam() + i);
    const PredictionRequest request = random_request(seed);
    SCOPED_TRACE(testing::Message() << "world " << seed);
    std::optional<Prediction> full;
    try {
      full = in_full(request);
    } catch (const SimulationError&) {
      continue;  // ranks that do not reach each other
    }
    expect_same(predict(request), *full);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorld, testing::Range(0, 24));

Cluster flat(int nodes) {
  Node node = bare_node(1, 5);
  give_latencies(node);
  node.gpu.reduce_bandwidth = 37_GBps;
  return one_switch(node, nodes, 400_Gbps);
}

// Many slices a step, chunks of one size: steps recur once the ranks are under way.
TEST(Recurrence, SkipsTheStepsOfARing) {
  PredictionRequest request = request_for(flat(16), {16 * 2 * 5 * 65'536});
  request.communication.slot_size = 64_KiB;
  request.communication.channels = 2;
  const Prediction skipped = predict(request);
  const Prediction full = in_full(request);
  expect_same(skipped, full);
  EXPECT_GT(skipped.cost.skipped_packet_hops, full.cost.packet_hops / 3);
}

// A long message one way: slice follows slice.
TEST(Recurrence, SkipsTheSlicesOfALongMessage) {
  PredictionRequest request = request_for(flat(2), {64 << 20});
  request.workload.collective = Collective::kSendRecv;
  request.communication.slot_size = 128_KiB;
  const Prediction skipped = predict(request);
  const Prediction full = in_full(request);
  expect_same(skipped, full);
  EXPECT_GT(skipped.cost.skipped_packet_hops, full.cost.packet_hops / 10 * 8);
}

// What is skipped costs nothing: four times the message takes no more packets.
TEST(Recurrence, SimulatesNoMoreForALongerMessage) {
  const auto simulated = [](std::int64_t mebibytes) {
    PredictionRequest request = request_for(flat(2), {mebibytes << 20});
    request.workload.collective = Collective::kSendRecv;
    request.communication.slot_size = 128_KiB;
    return predict(request).cost.packet_hops;
  };
  EXPECT_EQ(simulated(4096), simulated(1024));
}

// The last slice of each chunk is shorter, chunks differ by an element, and there are two sizes.
TEST(Recurrence, IsRightAboutRemainders) {
  PredictionRequest request = request_for(flat(8), {0});
  request.workload.sizes = {Bytes{2 * 1'600'042}, Bytes{2 * 2'111'111}};
  request.communication.slot_size = 64_KiB;
  request.communication.channels = 3;
  expect_same(predict(request), in_full(request));
}

}  // namespace
}  // namespace gradhaul
