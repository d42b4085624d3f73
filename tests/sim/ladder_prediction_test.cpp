// Predicted ladders, against closed forms.

#include "sim/ladder_prediction.h"

#include <gtest/gtest.h>

#include "core/infiniband_framing.h"
#include "sim/pair_write.h"
#include "sim/predict.h"
#include "sim/sized_cluster.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// 50 GB/s: 20 ps a byte.
constexpr std::int64_t kPsOfByte = 20;
constexpr std::int64_t kFlightPs = 1'000'000;

const LadderRow& rung(const std::vector<LadderRow>& rows, Rung wanted) {
  for (const LadderRow& row : rows) {
    if (row.rung == wanted) return row;
  }
  ADD_FAILURE() << "no rung " << name_of(wanted);
  return rows.front();
}

// Four ranks, one ring, 4000 slices' worth of room: a step is a chunk and one flight, the
// collective six of both, the pair as the step, the link without the flight.
TEST(LadderPrediction, IsTheClosedFormWhereNothingButLinksCosts) {
  PredictionRequest request = request_for(ideal_cluster(4), Bytes{4'000'000});
  request.communication.channels = 1;
  request.communication.slot_size = Bytes{1'000'000};
  const Prediction whole = predict(request);
  const std::vector<LadderRow> rows = predict_ladder(request, whole);
  ASSERT_EQ(rows.size(), 5U);
  const std::int64_t chunk = 1'000'000;
  for (const Rung of_step : {Rung::kLink, Rung::kHostPair, Rung::kGpuPair, Rung::kRingStep}) {
    EXPECT_EQ(rung(rows, of_step).carried, Bytes{chunk}) << name_of(of_step);
  }
  EXPECT_EQ(rung(rows, Rung::kLink).time.ps, chunk * kPsOfByte);
  EXPECT_EQ(rung(rows, Rung::kHostPair).time.ps, chunk * kPsOfByte + kFlightPs);
  EXPECT_EQ(rung(rows, Rung::kGpuPair).time.ps, chunk * kPsOfByte + kFlightPs);
  EXPECT_EQ(rung(rows, Rung::kRingStep).time.ps, chunk * kPsOfByte + kFlightPs);
  EXPECT_EQ(rung(rows, Rung::kCollective).carried, Bytes{6 * chunk});
  EXPECT_EQ(rung(rows, Rung::kCollective).time.ps, 6 * (chunk * kPsOfByte + kFlightPs));
}

// With one slot each slice waits for the one before to have come; with two, a flight passes for
// every two of them.
TEST(PairWrite, WaitsForSlots) {
  const Cluster cluster = with_sized_topology(ideal_cluster(2));
  const Fabric fabric(cluster);
  PairWrite pair;
  pair.hop = {.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
  pair.size = {40'000};
  pair.slice = {10'000};
  const std::int64_t slice = 10'000 * kPsOfByte;
  pair.slots = 1;
  EXPECT_EQ(pair_write_time(fabric, 1, pair).ps, 4 * (slice + kFlightPs));
  pair.slots = 2;
  EXPECT_EQ(pair_write_time(fabric, 1, pair).ps, 2 * (slice + kFlightPs) + slice);
  pair.slots = 8;
  EXPECT_EQ(pair_write_time(fabric, 1, pair).ps, 4 * slice + kFlightPs);
}

// Of one message of so many bytes.
Duration time_of_write(const Cluster& cluster, std::int64_t size, bool host_memory) {
  const Cluster sized = with_sized_topology(cluster);
  PairWrite pair;
  pair.hop = {.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
  pair.size = pair.slice = {size};
  pair.host_memory = host_memory;
  return pair_write_time(Fabric(sized), 1, pair);
}

// More than goes with its work request from host memory: the thread posts, the NIC reads the host's
// memory and not the GPU's, and the far thread sees the completion; no kernel's flag is waited for.
// The same from the GPU differs by what its memory takes to be read and written, and by the way to
// the host's.
TEST(PairWrite, LeavesOutWhatKernelsAndGpusCost) {
  Cluster cluster = bare_pair(5, 400_Gbps, 4096_B);
  give_latencies(cluster.node);
  const auto time = [&](bool host_memory) { return time_of_write(cluster, 129, host_memory); };
  const Duration host = time(true);
  const Duration gpu = time(false);
  cluster.node.gpu.flag_latency = 50_us;
  cluster.node.gpu.kernel_launch = 50_us;
  EXPECT_EQ(time(true), host);
  EXPECT_EQ(time(false), gpu);
  cluster.node.gpu.read_latency += 1_us;
  cluster.node.gpu.write_latency += 2_us;
  EXPECT_EQ(time(true), host);
  EXPECT_EQ(time(false), gpu + 3_us);
  cluster.node.host_memory_latency += 5_us;
  EXPECT_EQ(time(true), host + 5_us);
  cluster.node.nic.completion += 7_us;
  EXPECT_EQ(time(true), host + 12_us);
}

// Up to 128 bytes from host memory go with the work request, and that with the doorbell: the NIC
// reads nothing over PCIe, neither it nor the data.
TEST(PairWrite, SendsSmallWritesOfHostMemoryWithTheirWorkRequest) {
  Cluster cluster = bare_pair(5, 400_Gbps, 4096_B);
  give_latencies(cluster.node);
  const auto time = [&](std::int64_t size, bool host_memory) {
    return time_of_write(cluster, size, host_memory);
  };
  const NicModel& nic = cluster.node.nic;
  const Duration out = time(100, true);
  // On the wire, and over the receiver's sixteen lanes of PCIe 5, 63.0 GB/s.
  EXPECT_EQ(time(101, true) - out, Duration{kPsOfByte + 16});
  const Duration fetched = time(129, true);
  const Duration read = cluster.node.gpu.read_latency;
  EXPECT_GE(fetched - time(128, true), nic.wqe_fetch + cluster.node.host_memory_latency);
  EXPECT_GE(time(100, false) - out, nic.wqe_fetch + read - cluster.node.host_memory_latency);
  cluster.node.nic.wqe_fetch += 3_us;
  cluster.node.host_memory_latency += 5_us;
  cluster.node.gpu.read_latency += 7_us;
  EXPECT_EQ(time(100, true), out);
  EXPECT_EQ(time(129, true), fetched + 8_us);
  cluster.node.nic.post += 1_us;
  cluster.node.nic.doorbell += 1_us;
  EXPECT_EQ(time(100, true), out + 2_us);
}

// The last packet of a longer message is read, however short it is, and leaves the buffer of the
// NIC as all others do: the second hundred messages take as long as the fifth.
TEST(PairWrite, LeavesNothingInTheBufferOfTheNic) {
  Cluster cluster = bare_pair(5, 400_Gbps, 4096_B);
  give_latencies(cluster.node);
  cluster.node.nic.transmit_buffer = {16'384};
  const Cluster sized = with_sized_topology(cluster);
  const Fabric fabric(sized);
  const auto time = [&](std::int64_t messages) {
    PairWrite pair;
    pair.hop = {.source = 0, .destination = 1, .source_nic = 0, .destination_nic = 0};
    pair.slice = {4096 + 100};
    pair.size = pair.slice * messages;
    pair.slots = 1000;
    pair.host_memory = true;
    return pair_write_time(fabric, 1, pair).microseconds();
  };
  EXPECT_NEAR(time(500) - time(400), time(200) - time(100), 0.001);
}

// A full packet of 4096 bytes takes 4122 on the wire of InfiniBand.
TEST(LadderPrediction, HasLinksLessTheirFraming) {
  PredictionRequest request = request_for(bare_pair(5, 400_Gbps, 4096_B), Bytes{8'192'000});
  request.communication.channels = 1;
  const std::vector<LadderRow> rows = predict_ladder(request, predict(request));
  const LadderRow& link = rung(rows, Rung::kLink);
  ASSERT_EQ(link.carried, Bytes{4'096'000});
  EXPECT_EQ(link.time.ps, 1000 * (4096 + kInfinibandOverhead.count) * kPsOfByte);
  // A stream that PCIe holds up nowhere is as fast but for its latency and few headers.
  const LadderRow& pair = rung(rows, Rung::kGpuPair);
  EXPECT_GT(pair.time, link.time);
  EXPECT_LT(pair.time, link.time + 10_us);
}

}  // namespace
}  // namespace gradhaul
