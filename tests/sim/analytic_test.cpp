// Closed forms against figures worked out by hand, and their bracket against simulated runs.

#include <gtest/gtest.h>

#include "core/busbw.h"
#include "core/topology_size.h"
#include "sim/analytic_bracket.h"
#include "sim/analytic_prediction.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

PredictionRequest analytic(PredictionRequest request) {
  request.fidelity = Fidelity::kAnalytic;
  return request;
}

AnalyticBracket bracket_for(PredictionRequest request) {
  if (request.cluster.nodes > 1) {
    request.cluster.network.topology = size_topology(request.cluster.network, request.cluster.nodes,
                                                     request.cluster.node.nic_count)
                                           .topology;
  }
  const Fabric fabric(request.cluster);
  const Placement placement =
      place(request.cluster, request.communication, request.workload.collective);
  const std::int64_t count =
      request.workload.sizes[0].count / size_of(request.workload.datatype).count;
  HopLatency latency(fabric, placement.ranks_per_node);
  SlotBound slots(request, placement, latency);
  const ResourceLoad load = count_load(request, fabric, placement, count, &slots);
  const std::unique_ptr<Schedule> chunks = chunk_schedule(request, placement, count);
  const CollectiveChain chain = longest_chain(request, placement, *chunks, latency);
  return bracket_of(request, load, chain, slots, latency);
}

// --- By hand ------------------------------------------------------------------------------------

// 2 (N - 1) steps of latency and one chunk each: nothing overlaps where a slice is a chunk.
TEST(Analytic, IdealRingTakesTheTextbookTime) {
  const struct {
    Bytes size;
    double expected_us;
  } cases[] = {{1_MiB, 102.63}, {64_MiB, 2662.47}, {1024_MiB, 41669.5}};
  for (const auto& c : cases) {
    PredictionRequest request = analytic(request_for(ideal_cluster(32), c.size));
    request.communication.slot_size = 32_MiB;
    request.communication.channels = 1;
    EXPECT_NEAR(row_us(predict(request)), c.expected_us, c.expected_us * 1e-3);
  }
}

// k slices of a chunk follow each other around: 2 (N - 1) (a + c / B) + (k - 1) c / B, as long as
// the slices of one step do not fill the time of a whole round.
TEST(Analytic, IdealRingPipelinesItsSlices) {
  PredictionRequest request = request_for(ideal_cluster(8), 5'000_B * 32);
  request.communication.slot_size = 5'000_B;
  request.communication.channels = 1;
  const AnalyticBracket bracket = bracket_for(request);
  EXPECT_EQ(bracket.chain, (1_us + 100_ns) * 14 + 100_ns * 3);
  EXPECT_EQ(bracket.load, 14 * 4 * 100_ns - Duration{14 * 4 * 2});
}

TEST(Analytic, SevenBillionParametersOnThirtyTwoGpus) {
  Cluster cluster = one_switch(hgx_h100(), 4, 400_Gbps);
  cluster.network.topology.leaves = 0;
  cluster.network.topology.kind = TopologyKind::kRailOptimized;
  cluster.network.topology.switch_ports = 64;
  PredictionRequest request = analytic(request_for(cluster, {14'000'000'000}));
  const Prediction balanced = predict(request);
  EXPECT_NEAR(row_us(balanced), 68'240, 68'240 * 2e-3);
  EXPECT_GT(row_us(balanced), 68'240);
  EXPECT_EQ(balanced.rows[0].limited_by, "node0.nic0 (32 equal)");
  EXPECT_LT(balanced.error_bound.value().microseconds(), 68'240 * 0.01);
  request.communication.ring_order = RingOrder::kNccl;
  const Prediction handing_back = predict(request);
  EXPECT_NEAR(row_us(handing_back), 73'150, 73'150 * 2e-3);
  EXPECT_EQ(handing_back.rows[0].limited_by, "node0.gpu0.nvlink (32 equal)");
  const Prediction flat = predict(analytic(request_for(paired_cluster(32, 1), {14'000'000'000})));
  EXPECT_NEAR(row_us(flat), 545'960, 545'960 * 1e-3);
  EXPECT_EQ(flat.rows[0].limited_by, "node0.nic0 (32 equal)");
}

// A slot that is back only after its round trip: slices of 64 KiB, one at a time.
TEST(Analytic, OneSlotIsWaitedFor) {
  PredictionRequest request = request_for(paired_cluster(2, 1), 64_MiB);
  request.communication.channels = 1;
  request.communication.slots = 1;
  request.communication.slot_size = 64_KiB;
  const Prediction closed = predict(analytic(request));
  EXPECT_EQ(closed.rows[0].limited_by, "slots");
  const Prediction simulated = predict(request);
  EXPECT_NEAR(row_us(closed), row_us(simulated), row_us(simulated) * 0.02);
  EXPECT_EQ(simulated.rows[0].limited_by, "slots");
}

// --- Against simulated runs ---------------------------------------------------------------------

void expect_within(const PredictionRequest& request, const std::string& what) {
  const AnalyticBracket bracket = bracket_for(request);
  const Duration launch = request.cluster.node.gpu.kernel_launch;
  const Duration simulated = predict(request).rows.at(0).time - launch;
  EXPECT_LE(bracket.lower, simulated) << what;
  EXPECT_GE(bracket.upper, simulated) << what;
  EXPECT_LE(bracket.lower, bracket.estimate) << what;
  EXPECT_LE(bracket.estimate, bracket.upper) << what;
}

TEST(AnalyticBracket, HoldsForRings) {
  for (const int nodes : {2, 3, 6, 9}) {
    for (const int pairs : {1, 2, 4, 8}) {
      if (nodes * pairs > 36) continue;
      for (const Bytes size : {64_KiB, 1_MiB, 9_MiB}) {
        for (const int rounds : {1, 2}) {
          PredictionRequest request = request_for(paired_cluster(nodes, pairs), size);
          request.communication.channels = pairs * rounds;
          expect_within(request, std::to_string(nodes) + " x " + std::to_string(pairs) + ", " +
                                     std::to_string(size.count) + " B, " +
                                     std::to_string(pairs * rounds) + " channels");
        }
      }
    }
  }
}

TEST(AnalyticBracket, HoldsForLongRings) {
  for (const int pairs : {1, 8}) {
    for (const int channels : {1, pairs, 2 * pairs}) {
      PredictionRequest request = request_for(paired_cluster(2, pairs), 256_MiB);
      request.communication.channels = channels;
      expect_within(request, std::to_string(pairs) + ", " + std::to_string(channels));
    }
  }
}

TEST(AnalyticBracket, HoldsInOneNode) {
  for (const int pairs : {2, 3, 8}) {
    for (const Bytes size : {64_KiB, 1_MiB, 16_MiB, 128_MiB}) {
      for (const int channels : {1, 4, 16}) {
        PredictionRequest request = request_for(paired_cluster(1, pairs), size);
        request.communication.channels = channels;
        expect_within(request, std::to_string(pairs) + ", " + std::to_string(size.count) + " B, " +
                                   std::to_string(channels));
      }
    }
  }
}

TEST(AnalyticBracket, HoldsForOtherSlotsAndSlices) {
  for (const int slots : {1, 2, 8, 32}) {
    for (const Bytes slice : {16_KiB, 128_KiB, 2048_KiB}) {
      PredictionRequest request = request_for(paired_cluster(3, 2), 24_MiB);
      request.communication.channels = 2;
      request.communication.slots = slots;
      request.communication.slot_size = slice;
      expect_within(request, std::to_string(slots) + " slots of " + std::to_string(slice.count));
    }
  }
}

// GPUs that share PCIe and NICs, where queues are only estimated.
TEST(AnalyticBracket, HoldsWhereGpusWriteThroughPcie) {
  for (const int generation : {3, 5}) {
    for (const int nodes : {1, 2, 3}) {
      for (const int pairs : {2, 4}) {
        for (const Bytes size : {64_KiB, 1_MiB, 16_MiB}) {
          Node node = bare_node(pairs, generation);
          give_latencies(node);
          node.gpu.reduce_bandwidth = 100_GBps;
          Cluster cluster = one_switch(node, nodes, 200_Gbps);
          cluster.network.topology.leaves = 0;
          expect_within(request_for(cluster, size),
                        std::to_string(generation) + ": " + std::to_string(nodes) + " x " +
                            std::to_string(pairs) + ", " + std::to_string(size.count) + " B");
        }
      }
    }
  }
}

TEST(AnalyticBracket, IsNotAboveSimulatedTreesAndExchanges) {
  const struct {
    Collective collective;
    Algorithm algorithm;
  } kinds[] = {{Collective::kAllReduce, Algorithm::kDoubleBinaryTree},
               {Collective::kAllToAll, Algorithm::kRing},
               {Collective::kSendRecv, Algorithm::kRing}};
  for (const auto& kind : kinds) {
    for (const int nodes : {1, 2, 3, 5}) {
      for (const int pairs : {1, 4}) {
        if (nodes * pairs < 2) continue;
        for (const Bytes size : {64_KiB, 1_MiB, 16_MiB}) {
          PredictionRequest request = request_for(paired_cluster(nodes, pairs), size);
          request.workload.collective = kind.collective;
          request.communication.algorithm = kind.algorithm;
          const Duration simulated = predict(request).rows.at(0).time;
          const AnalyticBracket bracket = bracket_for(request);
          EXPECT_LE(bracket.lower + request.cluster.node.gpu.kernel_launch, simulated)
              << nodes << " x " << pairs << ", " << size.count << " B, "
              << static_cast<int>(kind.collective);
        }
      }
    }
  }
}

// Where nothing is shared, what is left between the estimate and a run is small.
TEST(Analytic, IsNearWhereNothingIsShared) {
  for (const int nodes : {2, 5, 9}) {
    for (const Bytes size : {64_KiB, 4_MiB, 64_MiB}) {
      PredictionRequest request = request_for(paired_cluster(nodes, 1), size);
      request.communication.channels = 1;
      const double simulated = row_us(predict(request));
      EXPECT_NEAR(row_us(predict(analytic(request))), simulated, simulated * 2e-3)
          << nodes << ", " << size.count;
    }
  }
}

// --- What is reported ---------------------------------------------------------------------------

TEST(Analytic, FillsThePrediction) {
  PredictionRequest request = analytic(request_for(paired_cluster(2, 8), 64_MiB));
  request.workload.sizes = {4_KiB, 1_MiB, {1'000'001}};
  request.seed = 7;
  const Prediction prediction = predict(request);
  EXPECT_EQ(prediction.fidelity, "analytic");
  EXPECT_EQ(prediction.seed, 7U);
  EXPECT_FALSE(prediction.exact);
  EXPECT_GT(prediction.error_bound.value(), Duration{});
  EXPECT_EQ(prediction.cost.packets, 0);
  EXPECT_FALSE(prediction.notes.empty());
  EXPECT_EQ(prediction.rings.size(), static_cast<std::size_t>(prediction.channels));
  ASSERT_EQ(prediction.rows.size(), 3U);
  EXPECT_EQ(prediction.rows[0].limited_by, "latency");
  EXPECT_EQ(prediction.rows[2].size.count, 1'000'000);
  EXPECT_EQ(prediction.rows[2].algorithm, "ring");
  for (const ResultRow& row : prediction.rows) {
    Duration sum;
    for (const TimePart& part : row.parts) {
      EXPECT_GT(part.time, Duration{});
      sum += part.time;
    }
    EXPECT_EQ(sum, row.time);
  }
  for (const ResourceUse& use : prediction.resources) {
    EXPECT_GE(use.utilisation, 0);
    EXPECT_LE(use.utilisation, 1);
  }
}

TEST(Analytic, PartsAddUpWhateverLimits) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const int slots : {1, 8}) {
      for (const std::int64_t size : {0, 2, 4096, 1 << 20, 1 << 28}) {
        PredictionRequest request = analytic(request_for(paired_cluster(3, 2), {size}));
        request.workload.collective = collective;
        request.communication.slots = slots;
        const ResultRow row = predict(request).rows.at(0);
        Duration sum;
        for (const TimePart& part : row.parts) sum += part.time;
        EXPECT_EQ(sum, row.time) << size;
        EXPECT_GE(row.time, request.cluster.node.gpu.kernel_launch);
      }
    }
  }
}

TEST(Analytic, IsTheSameEachTimeAndTellsRequestsApart) {
  PredictionRequest request = analytic(request_for(paired_cluster(2, 4), 16_MiB));
  const std::uint64_t digest = predict(request).digest;
  EXPECT_EQ(predict(request).digest, digest);
  request.communication.slot_size = 32_KiB;
  EXPECT_NE(predict(request).digest, digest);
}

TEST(Analytic, NeverBeatsItsLinks) {
  for (const Bytes size : {1_MiB, 64_MiB, 1024_MiB}) {
    const Prediction prediction = predict(analytic(request_for(paired_cluster(2, 1), size)));
    EXPECT_LE(busbw(Collective::kAllReduce, 2, size, prediction.rows[0].time), 50e9 * 0.99369);
  }
}

TEST(Analytic, StopsBetweenRowsWhenInterrupted) {
  const std::atomic<bool> interrupted = true;
  PredictionRequest request = analytic(request_for(paired_cluster(2, 1), 1_MiB));
  request.interrupted = &interrupted;
  const Prediction prediction = predict(request);
  EXPECT_TRUE(prediction.interrupted);
  EXPECT_TRUE(prediction.rows.empty());
}

}  // namespace
}  // namespace gradhaul
