// Ring against Tree in the ideal world, as parameters of both say it: latencies, bandwidths, and
// where one overtakes the other.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr double kBytesPerUs = 50'000;
constexpr Bytes kSmallSlice{4 * 1024};

double time_of(Algorithm algorithm, int nodes, Bytes size, Bytes slot_size) {
  PredictionRequest request = request_for(ideal_cluster(nodes), size);
  request.communication.algorithm = algorithm;
  request.communication.channels = 1;
  request.communication.slots = 64;
  request.communication.slot_size = slot_size;
  return row_us(predict(request));
}

double log2_of(int nodes) { return std::log2(nodes); }

TEST(RingAgainstTree, LatencyGrowsLinearlyAgainstLogarithmically) {
  for (const int nodes : {2, 4, 8, 16, 32, 64}) {
    const Bytes each{2 * nodes};  // one element in every chunk
    EXPECT_NEAR(time_of(Algorithm::kRing, nodes, each, 1_KiB), 2.0 * (nodes - 1), 0.02) << nodes;
    EXPECT_NEAR(time_of(Algorithm::kTree, nodes, {8}, 1_KiB), 2 * log2_of(nodes), 0.02) << nodes;
    EXPECT_NEAR(time_of(Algorithm::kDoubleBinaryTree, nodes, {8}, 1_KiB), 2 * log2_of(nodes), 0.02)
        << nodes;
  }
}

// From T_ring = 2(N-1) alpha + 2(N-1) S/(N B) and T_tree = 2 log2 N alpha + 2 S/B follows
// S* = alpha N B (N - 1 - log2 N): below it the tree is quicker, above it the ring.
double crossover(int nodes) { return nodes * kBytesPerUs * (nodes - 1 - log2_of(nodes)); }

TEST(RingAgainstTree, CrossesARingOfWholeChunksNearTheCrossover) {
  for (const int nodes : {8, 16}) {
    const auto at = [&](double share) {
      const Bytes size{static_cast<std::int64_t>(crossover(nodes) * share) / 2 * 2};
      return time_of(Algorithm::kDoubleBinaryTree, nodes, size, kSmallSlice) -
             time_of(Algorithm::kRing, nodes, size, size);
    };
    EXPECT_LT(at(0.75), 0) << nodes;
    EXPECT_GT(at(1.25), 0) << nodes;
  }
}

// A ring of small slices takes one step's latency after the other only with its first slices:
// the next follow while these go round, and the crossover is N times lower.
TEST(RingAgainstTree, CrossesARingOfSmallSlicesEarlier) {
  constexpr int kNodes = 16;
  const auto at = [&](double share) {
    const Bytes size{static_cast<std::int64_t>(crossover(kNodes) / kNodes * share) / 2 * 2};
    const Bytes slice{1024};
    return time_of(Algorithm::kDoubleBinaryTree, kNodes, size, slice) -
           time_of(Algorithm::kRing, kNodes, size, slice);
  };
  EXPECT_LT(at(0.75), 0);
  EXPECT_GT(at(1.25), 0);
}

TEST(RingAgainstTree, TheTreesComeCloseToTheirBandwidthsAtLargeSizes) {
  constexpr double kSize = 32 * 1024 * 1024;
  const double twice = 2 * kSize / kBytesPerUs;
  const double two_trees = time_of(Algorithm::kDoubleBinaryTree, 8, 32_MiB, kSmallSlice);
  EXPECT_GE(two_trees, twice * 0.99);  // the halves' last slices overlap
  EXPECT_LE(two_trees, twice * 1.05);
  // A node with a parent and two children sends three times as much.
  const double one_tree = time_of(Algorithm::kTree, 8, 32_MiB, kSmallSlice);
  EXPECT_GE(one_tree, 3 * kSize / kBytesPerUs);
  EXPECT_LE(one_tree, 3 * kSize / kBytesPerUs * 1.05);
}

std::int64_t bytes_on_wires(Algorithm algorithm) {
  PredictionRequest request = request_for(one_switch(hgx_h100(), 2, 400_Gbps), 64_MiB);
  request.communication.algorithm = algorithm;
  request.fidelity = Fidelity::kAnalytic;
  std::int64_t bytes = 0;
  for (const ResourceUse& use : predict(request).resources) {
    if (use.kind == "nic") bytes += use.bytes.count;
  }
  return bytes;
}

// On two nodes of g ranks a tree sends the message once each way; a ring of 2 g ranks
// 2(2g-1)/(2g) times.
TEST(RingAgainstTree, ATreeOfTwoNodesMovesHalfTheBytes) {
  const std::int64_t size = 64 * 1024 * 1024;
  const std::int64_t ring = bytes_on_wires(Algorithm::kRing);
  EXPECT_NEAR(static_cast<double>(ring), 2.0 * 2 * size * 2 * 15 / 16, size * 1e-3);
  EXPECT_EQ(bytes_on_wires(Algorithm::kTree), 2 * 2 * size);
  EXPECT_EQ(bytes_on_wires(Algorithm::kDoubleBinaryTree), 2 * 2 * size);
}

}  // namespace
}  // namespace gradhaul
