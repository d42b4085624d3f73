// Every algorithm of every collective in the ideal world against the closed form of its header, and
// the cheap fidelities against packets.

#include <gtest/gtest.h>

#include <bit>

#include "core/collective_algorithms.h"
#include "core/make_schedule.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr double kAlpha = 1;            // us: a message's latency
constexpr double kBytesPerUs = 50'000;  // 50 GB/s

PredictionRequest ideal(Collective collective, Algorithm algorithm, int ranks, Bytes size) {
  PredictionRequest request = request_for(ideal_cluster(ranks), size);
  request.workload.collective = collective;
  request.communication.algorithm = algorithm;
  request.communication.channels = 1;
  request.communication.slot_size = size;  // so that nothing overlaps
  return request;
}

double us_of(const PredictionRequest& request) { return row_us(predict(request)); }

TEST(AlgorithmTimes, HalfRingsTakeOneRound) {
  for (const Collective collective : {Collective::kReduceScatter, Collective::kAllGather}) {
    for (const int n : {2, 5, 16}) {
      for (const Bytes size : {8_KiB * n, 4_MiB * n}) {
        const double share = static_cast<double>(size.count) / n / kBytesPerUs;
        const double expected = (n - 1) * (kAlpha + share);
        EXPECT_NEAR(us_of(ideal(collective, Algorithm::kRing, n, size)), expected, expected * 1e-3)
            << n;
      }
    }
  }
}

TEST(AlgorithmTimes, AChainOfSlicesIsAPipeline) {
  PredictionRequest request = ideal(Collective::kBroadcast, Algorithm::kRing, 6, 1_MiB);
  request.communication.slot_size = 64_KiB;
  const double slice = 65536 / kBytesPerUs;
  EXPECT_NEAR(us_of(request), 5 * (kAlpha + slice) + 15 * slice, 0.01);
  // Down a tree of 8 places: three hops, of which the one from rank 0 is to its only child. The
  // next sends twice, the other child's copy behind the first one's.
  request = ideal(Collective::kBroadcast, Algorithm::kTree, 8, 50'000_B);
  EXPECT_NEAR(us_of(request), 3 * (kAlpha + 1) + 2 * 1, 0.01);
}

TEST(AlgorithmTimes, RecursiveDoublingSendsAllInEveryStep) {
  for (const int n : {2, 4, 16}) {
    for (const Bytes size : {1_KiB, 1_MiB}) {
      const double steps = std::bit_width(static_cast<unsigned>(n)) - 1;
      const double expected = steps * (kAlpha + static_cast<double>(size.count) / kBytesPerUs);
      EXPECT_NEAR(us_of(ideal(Collective::kAllReduce, Algorithm::kRecursiveDoubling, n, size)),
                  expected, expected * 1e-3);
    }
  }
  // Three: one hands in before, which shares the host's link with the first exchange, and gets the
  // result after.
  EXPECT_NEAR(us_of(ideal(Collective::kAllReduce, Algorithm::kRecursiveDoubling, 3, 50'000_B)),
              3 * (kAlpha + 1) + 1, 0.03);
}

// Small: 2 log2 P latencies, and what is exchanged. Large: no more than 2(P-1)/P of the message
// passes a NIC.
TEST(AlgorithmTimes, HalvingDoublingIsShortAndMovesLittle) {
  for (const int n : {2, 4, 16}) {
    const double steps = 2.0 * (std::bit_width(static_cast<unsigned>(n)) - 1);
    for (const Bytes size : {4_KiB, 16_MiB}) {
      PredictionRequest request =
          ideal(Collective::kAllReduce, Algorithm::kHalvingDoubling, n, size);
      if (size == 16_MiB) request.communication.slot_size = 64_KiB;
      const double moved = 2.0 * (n - 1) / n * static_cast<double>(size.count) / kBytesPerUs;
      const double time = us_of(request);
      EXPECT_LE(time, (steps * kAlpha + moved) * 1.001) << n;
      EXPECT_GE(time, std::max(steps * kAlpha, moved)) << n;
    }
  }
}

TEST(AlgorithmTimes, AServerIsTheBottleneck) {
  for (const int n : {2, 5, 9}) {
    const double expected = 2 * kAlpha + 2.0 * (n - 1) * 100;  // 5 MB
    EXPECT_NEAR(us_of(ideal(Collective::kAllReduce, Algorithm::kParameterServer, n, 5'000'000_B)),
                expected, expected * 1e-3);
  }
}

// Nodes of eight GPUs, whose NVLink is four times as fast as all NICs of a node together.
PredictionRequest two_level(Collective collective, Algorithm algorithm, int nodes, Bytes size) {
  PredictionRequest request = request_for(one_switch(hgx_h100(), nodes, 100_Gbps), size);
  request.workload.collective = collective;
  request.communication.algorithm = algorithm;
  return request;
}

// Where a flat ring moves 2(N-1)/N of the message through the NICs of a node, two levels move
// 2(n-1)/n, and in fewer steps.
TEST(AlgorithmTimes, HierarchicalBeatsFlatWhereNvlinkIsFaster) {
  for (const Bytes size : {64_KiB, 8_MiB}) {
    const double flat = us_of(two_level(Collective::kAllReduce, Algorithm::kRing, 2, size));
    EXPECT_LT(us_of(two_level(Collective::kAllReduce, Algorithm::kHierarchical, 2, size)), flat)
        << size.count;
  }
  // Large: by the ratio of what passes the NICs.
  PredictionRequest request = two_level(Collective::kAllReduce, Algorithm::kRing, 2, 1024_MiB);
  request.fidelity = Fidelity::kFlow;
  const double flat = us_of(request);
  request.communication.algorithm = Algorithm::kHierarchical;
  EXPECT_NEAR(us_of(request) / flat, (1.0 / 2) / (15.0 / 16), 0.03);
}

// Small parts: eight times fewer messages leave each rank for other nodes.
TEST(AlgorithmTimes, TwoLevelsHelpAllToAllOfSmallParts) {
  const Bytes size = 1_KiB * 32;
  const double pairwise = us_of(two_level(Collective::kAllToAll, Algorithm::kPairwise, 4, size));
  EXPECT_LT(us_of(two_level(Collective::kAllToAll, Algorithm::kHierarchical, 4, size)), pairwise);
}

// What each sends does not depend on how it is predicted.
TEST(AlgorithmTimes, AllFidelitiesAgree) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kBroadcast, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const Algorithm algorithm : algorithms_of(collective)) {
      for (const Bytes size : {64_KiB, 3_MiB}) {
        PredictionRequest request = request_for(paired_cluster(3, 2), size);
        request.workload.collective = collective;
        request.communication.algorithm = algorithm;
        request.communication.channels = 2;
        const Prediction packets = predict(request);
        request.fidelity = Fidelity::kFlow;
        const Prediction flow = predict(request);
        request.fidelity = Fidelity::kAnalytic;
        const Prediction analytic = predict(request);
        const std::string what = std::string(name_of(algorithm)) + " of collective " +
                                 std::to_string(static_cast<int>(collective)) + ", " +
                                 std::to_string(size.count);
        EXPECT_EQ(flow.rows[0].bytes_sent_per_rank, packets.rows[0].bytes_sent_per_rank) << what;
        EXPECT_EQ(analytic.rows[0].bytes_sent_per_rank, packets.rows[0].bytes_sent_per_rank)
            << what;
        EXPECT_EQ(packets.rows[0].algorithm, name_of(algorithm));
        // Queues and waiting for completions are what these leave out; and that the half of a chunk
        // that halving passes on is there before the other.
        if (algorithm != Algorithm::kPairwise) {
          EXPECT_NEAR(row_us(flow), row_us(packets), row_us(packets) * 0.35) << what;
        }
        EXPECT_NEAR(row_us(analytic), row_us(packets), row_us(packets) * 0.4) << what;
        EXPECT_LE(row_us(analytic) - analytic.error_bound->microseconds(), row_us(packets)) << what;
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul
