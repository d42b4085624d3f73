// Fluid flows against closed forms, against simulated packets, and against themselves.

#include <gtest/gtest.h>

#include <algorithm>

#include "core/busbw.h"
#include "core/collective_algorithms.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

PredictionRequest flowing(PredictionRequest request) {
  request.fidelity = Fidelity::kFlow;
  return request;
}

// Eight nodes of one GPU on two leaves, whose cables to the spine carry a quarter of their NICs'.
Cluster oversubscribed() {
  Cluster cluster = paired_cluster(8, 1);
  cluster.network.topology = {TopologyKind::kLeafSpine, 6};
  cluster.network.oversubscription = 4;
  return cluster;
}

std::string described(const PredictionRequest& request) {
  return std::to_string(request.cluster.nodes) + " x " +
         std::to_string(request.cluster.ranks_per_node) + ", " +
         std::to_string(request.workload.sizes[0].count) + " B, " +
         std::to_string(request.communication.channels.value_or(0)) + " channels, " +
         std::to_string(request.communication.slots) + " slots";
}

void expect_near_packets(const PredictionRequest& request, double most) {
  const double packets = row_us(predict(request));
  EXPECT_NEAR(row_us(predict(flowing(request))), packets, packets * most) << described(request);
}

// --- Closed forms -------------------------------------------------------------------------------

// 2 (N - 1) steps of latency and one chunk each: nothing overlaps where a slice is a chunk.
TEST(Flow, IdealRingTakesTheTextbookTime) {
  for (const std::int64_t mebibytes : {1, 64, 1024}) {
    PredictionRequest request = flowing(request_for(ideal_cluster(32), 1_MiB * mebibytes));
    request.communication.slot_size = 32_MiB;
    request.communication.channels = 1;
    const double chunk_us = static_cast<double>(mebibytes) * 1048576 / 32 / 50e3;
    const double expected = 62 * (1 + chunk_us);
    EXPECT_NEAR(row_us(predict(request)), expected, expected * 1e-6) << mebibytes;
  }
}

// Slices of 100 ns of which four make a chunk: 2 (N - 1) (a + slice) + 3 slices.
TEST(Flow, IdealRingPipelinesItsChunks) {
  PredictionRequest request = flowing(request_for(ideal_cluster(8), 5'000_B * 32));
  request.communication.slot_size = 5'000_B;
  request.communication.channels = 1;
  EXPECT_NEAR(row_us(predict(request)), 14 * 1.1 + 3 * 0.1, 1e-3);
}

// 14 GB on 32 GPUs: each NIC carries 2 x 31/32 x 14 GB / 8 at 50 GB/s less InfiniBand's headers.
TEST(Flow, SevenBillionParametersOnThirtyTwoGpus) {
  Cluster cluster = one_switch(hgx_h100(), 4, 400_Gbps);
  cluster.network.topology = {TopologyKind::kRailOptimized, 64};
  const Prediction prediction = predict(flowing(request_for(cluster, {14'000'000'000})));
  EXPECT_NEAR(row_us(prediction), 68'240, 68'240 * 2e-3);
  EXPECT_EQ(prediction.rows[0].limited_by, "node0.nic0 (32 equal)");
  EXPECT_LT(prediction.error_bound.value().microseconds(), 68'240 * 0.01);
}

// --- Against packets ----------------------------------------------------------------------------

// Nothing is shared: no more between them than the bound, and that is small.
TEST(Flow, IsWithinItsBoundWhereNothingIsShared) {
  for (const int nodes : {2, 5}) {
    for (const Bytes size : {64_KiB, 4_MiB, 30_MiB}) {
      for (const int slots : {1, 8}) {
        PredictionRequest request = request_for(paired_cluster(nodes, 1), size);
        request.communication.channels = 1;
        request.communication.slots = slots;
        const Prediction flow = predict(flowing(request));
        const double bound = flow.error_bound.value().microseconds();
        const double packets = row_us(predict(request));
        EXPECT_LT(bound, 20 + packets * 0.04) << described(request);
        EXPECT_NEAR(row_us(flow), packets, std::min(bound, packets * 0.01)) << described(request);
      }
    }
  }
}

// Each channel has its own ring over NVLink and its own NIC; what is shared is not full.
TEST(Flow, IsNearPacketsOverNvlinkAndNics) {
  for (const int pairs : {2, 4}) {
    for (const Bytes size : {64_KiB, 4_MiB, 96_MiB}) {
      PredictionRequest request = request_for(paired_cluster(2, pairs), size);
      request.communication.channels = pairs;
      expect_near_packets(request, 0.05);
    }
  }
}

// The GPUs of a node share a PCIe uplink, and the NIC beyond it.
TEST(Flow, IsNearPacketsOnSharedUplinks) {
  for (const int nodes : {2, 3}) {
    for (const Bytes size : {1_MiB, 8_MiB}) {
      Node node = bare_node(4, 4);
      give_latencies(node);
      node.gpu.reduce_bandwidth = 37_GBps;
      node.nic_count = 1;
      node.pcie = {{"sw0", "socket0", PcieLink{3, 16}, {"gpu0", "gpu1", "gpu2", "gpu3"}},
                   {"", "socket0", std::nullopt, {"nic0"}}};
      Cluster cluster = one_switch(node, nodes, 200_Gbps);
      cluster.network.topology.leaves = 0;
      expect_near_packets(request_for(cluster, size), 0.05);
    }
  }
}

// Every hop of the ring crosses the spine, by a cable that carries four of them.
TEST(Flow, IsNearPacketsOnOversubscribedSpines) {
  for (const Bytes size : {2_MiB, 16_MiB, 64_MiB}) {
    PredictionRequest request = request_for(oversubscribed(), size);
    request.communication.channels = 2;
    request.communication.ring_order = RingOrder::kListed;
    request.communication.listed_rings = {{0, 4, 1, 5, 2, 6, 3, 7}};
    expect_near_packets(request, 0.05);
    const Prediction flow = predict(flowing(request));
    EXPECT_EQ(flow.rows[0].limited_by, "leaf0-spine0 (2 equal)");
  }
}

// Four one-slice chunks meet on a cable at each step, which is no fluid.
TEST(Flow, IsWithinItsBoundWhereSlicesMeet) {
  for (const Bytes size : {64_KiB, 1_MiB, 2_MiB, 4_MiB}) {
    PredictionRequest request = request_for(oversubscribed(), size);
    request.communication.channels = 1;
    request.communication.ring_order = RingOrder::kListed;
    request.communication.listed_rings = {{0, 4, 1, 5, 2, 6, 3, 7}};
    const Prediction flow = predict(flowing(request));
    EXPECT_NEAR(row_us(flow), row_us(predict(request)), flow.error_bound.value().microseconds())
        << described(request);
  }
}

// Of several channels, which have small messages and one thread.
TEST(Flow, IsNearPacketsWhereThreadsTakeTurns) {
  for (const int pairs : {1, 4}) {
    for (const Bytes size : {64_KiB, 1_MiB, 8_MiB}) {
      for (const Protocol protocol : {Protocol::kSimple, Protocol::kLl128}) {
        PredictionRequest request = request_for(paired_cluster(3, pairs), size);
        request.communication.channels = 4 * pairs;
        request.communication.thread_step = 2_us;
        request.communication.protocol = protocol;
        expect_near_packets(request, 0.15);
        const double packets = row_us(predict(request));
        for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
          request.fidelity = fidelity;
          const Prediction fluid = predict(request);
          EXPECT_NEAR(row_us(fluid), packets, fluid.error_bound.value().microseconds())
              << described(request);
          std::int64_t parts = 0;
          for (const TimePart& part : fluid.rows[0].parts) parts += part.time.ps;
          EXPECT_EQ(parts, fluid.rows[0].time.ps);
        }
      }
    }
  }
}

// Three slices go side by side from node to node, and wait for each other at each.
TEST(Flow, IsWithinItsBoundWhereChannelsBroadcast) {
  PredictionRequest request = request_for(paired_cluster(6, 1), 8_MiB);
  request.workload.collective = Collective::kBroadcast;
  request.communication.channels = 3;
  request.communication.slot_size = 4_MiB;
  const double packets = row_us(predict(request));
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const Prediction prediction = predict(request);
    EXPECT_NEAR(row_us(prediction), packets, prediction.error_bound.value().microseconds())
        << prediction.fidelity;
  }
}

TEST(Flow, IsNearPacketsWhereEachSendsToTheNext) {
  for (const Bytes size : {4_KiB, 256_KiB, 16_MiB}) {
    for (const int channels : {1, 2}) {
      PredictionRequest request = request_for(paired_cluster(4, 1), size);
      request.workload.collective = Collective::kSendRecv;
      request.communication.channels = channels;
      expect_near_packets(request, 0.01);
    }
  }
}

// Up and down meet in the kernels, which work in order, where fluids share.
TEST(Flow, IsNearPacketsForTreesOfSingleGpus) {
  for (const int nodes : {2, 3, 6}) {
    for (const Bytes size : {64_KiB, 64_MiB}) {
      PredictionRequest request = request_for(paired_cluster(nodes, 1), size);
      request.communication.algorithm = Algorithm::kDoubleBinaryTree;
      request.communication.channels = 2;
      expect_near_packets(request, 0.15);
    }
  }
}

// Where many send to one at a time packets queue as no fluid does, so that it is faster; but not
// than the NIC.
TEST(Flow, AllToAllFillsItsNics) {
  PredictionRequest request = request_for(paired_cluster(4, 1), 64_MiB);
  request.workload.collective = Collective::kAllToAll;
  request.communication.channels = 2;
  const double flow = row_us(predict(flowing(request)));
  const double least = 64.0 * 1048576 * 3 / 4 / 50e3;
  EXPECT_GT(flow, least);
  EXPECT_LT(flow, row_us(predict(request)) * 1.02);
  EXPECT_LT(flow, least * 1.2);
}

// --- Recurrence ---------------------------------------------------------------------------------

bool says_steps(const Prediction& prediction) {
  for (const std::string& note : prediction.notes) {
    if (note.find("steps were simulated") != std::string::npos) return true;
  }
  return false;
}

TEST(Flow, SkippedStepsTakeAsLongAsSimulatedOnes) {
  for (const int pairs : {1, 4}) {
    for (const Bytes size : {256_KiB, 256_MiB}) {
      PredictionRequest request = flowing(request_for(paired_cluster(12, pairs), size));
      request.communication.channels = pairs;
      const Prediction skipped = predict(request);
      request.skip_recurrences = false;
      const Prediction whole = predict(request);
      EXPECT_TRUE(says_steps(skipped)) << described(request);
      EXPECT_FALSE(says_steps(whole)) << described(request);
      // A millionth, or 4 ps a step.
      const double most = std::max(row_us(whole) * 1e-6, 4e-6 * 2 * (12 * pairs - 1));
      EXPECT_NEAR(row_us(skipped), row_us(whole), most) << described(request);
      EXPECT_EQ(skipped.rows[0].limited_by, whole.rows[0].limited_by);
    }
  }
}

// --- What is reported ---------------------------------------------------------------------------

TEST(Flow, FillsThePrediction) {
  PredictionRequest request = flowing(request_for(paired_cluster(2, 8), 64_MiB));
  request.workload.sizes = {4_KiB, 1_MiB, {1'000'001}};
  request.seed = 7;
  const Prediction prediction = predict(request);
  EXPECT_EQ(prediction.fidelity, "flow");
  EXPECT_EQ(prediction.seed, 7U);
  EXPECT_FALSE(prediction.exact);
  EXPECT_GT(prediction.error_bound.value(), Duration{});
  EXPECT_EQ(prediction.cost.packets, 0);
  EXPECT_EQ(prediction.rings.size(), static_cast<std::size_t>(prediction.channels));
  ASSERT_EQ(prediction.rows.size(), 3U);
  EXPECT_EQ(prediction.rows[0].limited_by, "latency");
  EXPECT_EQ(prediction.rows[2].size.count, 1'000'000);
  for (const ResourceUse& use : prediction.resources) {
    EXPECT_GE(use.utilisation, 0);
    EXPECT_LE(use.utilisation, 1);
  }
}

// Bytes are counted and not simulated: the same as of a packet run.
TEST(Flow, CountsTheBytesThatPacketsCarry) {
  const PredictionRequest request = request_for(paired_cluster(3, 2), 3_MiB);
  const Prediction packets = predict(request);
  const Prediction flow = predict(flowing(request));
  EXPECT_EQ(flow.rows[0].bytes_sent_per_rank, packets.rows[0].bytes_sent_per_rank);
  ASSERT_EQ(flow.resources.size(), packets.resources.size());
  for (std::size_t i = 0; i < flow.resources.size(); ++i) {
    EXPECT_EQ(flow.resources[i].name, packets.resources[i].name);
    EXPECT_EQ(flow.resources[i].bytes, packets.resources[i].bytes) << flow.resources[i].name;
  }
}

TEST(Flow, PartsAddUpWhateverLimits) {
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDoubleBinaryTree}) {
      if (!has_algorithm(collective, running_algorithm(collective, algorithm))) continue;
      for (const int slots : {1, 8}) {
        for (const std::int64_t size : {0, 2, 4096, 1 << 20, 1 << 28}) {
          PredictionRequest request = flowing(request_for(paired_cluster(3, 2), {size}));
          request.workload.collective = collective;
          request.communication.algorithm = algorithm;
          request.communication.slots = slots;
          const ResultRow row = predict(request).rows.at(0);
          Duration sum;
          for (const TimePart& part : row.parts) {
            EXPECT_GT(part.time, Duration{}) << part.resource << " " << part.cause;
            sum += part.time;
          }
          EXPECT_EQ(sum, row.time) << described(request);
          EXPECT_GE(row.time, request.cluster.node.gpu.kernel_launch);
        }
      }
    }
  }
}

// Whatever ran before in the process, packets or flows.
TEST(Flow, IsTheSameEachTimeAndTellsRequestsApart) {
  PredictionRequest request = flowing(request_for(paired_cluster(2, 4), 16_MiB));
  const Prediction first = predict(request);
  predict(request_for(paired_cluster(2, 1), 1_MiB));
  predict(flowing(request_for(paired_cluster(3, 1), 5_MiB)));
  const Prediction again = predict(request);
  EXPECT_EQ(again.digest, first.digest);
  EXPECT_EQ(again.rows[0].time, first.rows[0].time);
  request.communication.slot_size = 32_KiB;
  EXPECT_NE(predict(request).digest, first.digest);
}

TEST(Flow, NeverBeatsItsLinks) {
  for (const Bytes size : {1_MiB, 64_MiB, 1024_MiB}) {
    const Prediction prediction = predict(flowing(request_for(paired_cluster(2, 1), size)));
    EXPECT_LE(busbw(Collective::kAllReduce, 2, size, prediction.rows[0].time), 50e9 * 0.99369);
  }
}

TEST(Flow, StopsBetweenRowsWhenInterrupted) {
  const std::atomic<bool> interrupted = true;
  PredictionRequest request = flowing(request_for(paired_cluster(2, 1), 1_MiB));
  request.interrupted = &interrupted;
  const Prediction prediction = predict(request);
  EXPECT_TRUE(prediction.interrupted);
  EXPECT_TRUE(prediction.rows.empty());
}

}  // namespace
}  // namespace gradhaul
