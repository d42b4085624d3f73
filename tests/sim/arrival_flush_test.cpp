// The read back before kernels are told: what it adds to a message, where it is made, and that
// nothing else depends on it.

#include "core/arrival_flush.h"

#include <gtest/gtest.h>

#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/same_prediction.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// One write from each of two nodes to the other.
PredictionRequest one_write() {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  give_latencies(cluster.node);
  PredictionRequest request = request_for(cluster, {4096});
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  return request;
}

std::int64_t time_of(const PredictionRequest& request) { return predict(request).rows[0].time.ps; }

std::int64_t added(PredictionRequest request) {
  const std::int64_t without = time_of(request);
  request.communication.flush = Flush::kOn;
  return time_of(request) - without;
}

// Posted, fetched and completed as any work request; read over two PCIe links and a switch each
// way; 24 bytes on the wire each way, of 61 GB/s.
constexpr std::int64_t kPosted = 75'000 + 203'000 + 351'000;
constexpr std::int64_t kRead = 2 * (20'000 + 105'000 + 20'000) + 700'000;
constexpr std::int64_t kCompleted = 227'000;
constexpr std::int64_t kTlps = 2 * 2 * 24 * 1'000'000 / 61'000;  // serialised at most twice

TEST(ArrivalFlush, TakesAReadByTheNic) {
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kAnalytic, Fidelity::kFlow}) {
    PredictionRequest request = one_write();
    request.fidelity = fidelity;
    const std::int64_t flush = added(request);
    EXPECT_GT(flush, kPosted + kRead + kCompleted);
    EXPECT_LE(flush, kPosted + kRead + kCompleted + kTlps);
  }
}

// The thread posts it and sees its completion.
TEST(ArrivalFlush, TakesTheThreadTwice) {
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kAnalytic}) {
    PredictionRequest request = one_write();
    request.fidelity = fidelity;
    const std::int64_t alone = added(request);
    request.communication.thread_step = 650_ns;
    EXPECT_EQ(added(request), alone + 2 * 650'000);
  }
}

// Lines are polled; staged data is copied to the GPU by itself.
TEST(ArrivalFlush, IsOfSimpleDataThatTheNicWritesToTheGpu) {
  PredictionRequest lines = one_write();
  lines.communication.protocol = Protocol::kLl;
  EXPECT_EQ(added(lines), 0);
  PredictionRequest staged = one_write();
  staged.communication.gpudirect = GpuDirect::kOff;
  EXPECT_EQ(added(staged), 0);
}

TEST(ArrivalFlush, IsMadeBeforeHopper) {
  GpuModel gpu;
  const auto automatic = [&gpu](int capability) {
    gpu.compute_capability = capability;
    return flushes(Flush::kAuto, Protocol::kSimple, gpu);
  };
  EXPECT_TRUE(automatic(80));
  EXPECT_TRUE(automatic(89));
  EXPECT_FALSE(automatic(90));
  EXPECT_FALSE(automatic(100));
  EXPECT_FALSE(automatic(0));
  EXPECT_TRUE(flushes(Flush::kOn, Protocol::kSimple, gpu));
  EXPECT_FALSE(flushes(Flush::kOn, Protocol::kLl128, gpu));
  gpu.compute_capability = 70;
  EXPECT_FALSE(flushes(Flush::kOff, Protocol::kSimple, gpu));
}

TEST(ArrivalFlush, StandsOnTheCriticalPath) {
  PredictionRequest request = one_write();
  const std::int64_t flush = added(request);
  request.communication.flush = Flush::kOn;
  std::int64_t blamed = 0;
  const Prediction prediction = predict(request);
  for (const TimePart& part : prediction.rows[0].parts) {
    if (part.cause == "flush") blamed += part.time.ps;
  }
  EXPECT_EQ(blamed, flush);
}

TEST(ArrivalFlush, RecursAndIsAlike) {
  Cluster cluster = one_switch(hgx_h100(), 2, 400_Gbps);
  PredictionRequest request = request_for(cluster, 64_MiB);
  request.communication.channels = 8;
  request.communication.ring_order = RingOrder::kNccl;
  request.communication.flush = Flush::kOn;
  for (const Duration step : {Duration{}, Duration{650'000}}) {
    request.communication.thread_step = step;
    const Prediction skipping = predict(request);
    EXPECT_GT(skipping.cost.skipped_packet_hops, 0);
    expect_same_run(skipping, in_full(request));
  }
}

}  // namespace
}  // namespace gradhaul
