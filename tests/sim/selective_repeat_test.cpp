// Queue pairs that send again what is missing and nothing else.

#include <gtest/gtest.h>

#include <cmath>

#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Of the ideal network, as in loss_test.cpp.
constexpr std::int64_t kSlot = 81'920;
constexpr std::int64_t kWay = 1'000'000;

Cluster lossy_pair(double loss) {
  Cluster cluster = ideal_cluster(2);
  cluster.network.topology.leaves = 1;
  cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
  if (loss > 0) {
    cluster.faults.errors = {{"node0.nic0", -std::expm1(std::log1p(-loss) / (4096 * 8)), 0}};
  }
  return cluster;
}

RecoveryCounts counts(const WriteStream& stream, int node) {
  return stream.world().packets().recovery(node, 0);
}

// Each packet of a gap costs its own slot, and no other.
TEST(SelectiveRepeat, CostsWhatWasLost) {
  for (const std::int64_t at : {std::int64_t{20'000'000}, std::int64_t{31'234'567}}) {
    Cluster cluster = lossy_pair(0);
    cluster.faults.down = {{"node0.nic0", {at}, Duration{1}}};
    const WriteStream stream(cluster, {.length = {1024 * 4096}});
    const std::int64_t first = (at - kSlot - kWay) / kSlot + 1;
    const std::int64_t lost = at / kSlot - first + 1;
    EXPECT_EQ(stream.arrived().at(0), (1024 + lost) * kSlot + kWay);
    EXPECT_EQ(counts(stream, 0).retransmitted, lost);
    EXPECT_EQ(counts(stream, 0).packet_seq_err, 1);
    EXPECT_EQ(counts(stream, 0).local_ack_timeout_err, 0);
    EXPECT_GT(counts(stream, 1).out_of_sequence, 0);
  }
}

double goodput(double loss, Retransmission retransmission) {
  constexpr int kWrites = 400;
  Cluster cluster = lossy_pair(loss);
  cluster.node.nic.retransmission = retransmission;
  double slots = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const WriteStream stream(cluster, {.writes = kWrites, .timeout = 3, .seed = seed});
    slots += static_cast<double>(stream.arrived().back()) / kSlot;
  }
  return 4 * kWrites * 128 / slots;
}

// eta = 1 - p: a packet is sent 1/(1 - p) times on average. One that is lost again is told of by
// the timer alone, whose cost of p^2 times what it has sent again is below the tolerance up to
// 1e-3.
TEST(SelectiveRepeat, HasTheGoodputOfItsClosedForm) {
  for (const double loss : {1e-4, 1e-3}) {
    EXPECT_NEAR(goodput(loss, Retransmission::kSelectiveRepeat), 1 - loss, 0.003);
  }
  // Go-back-N loses 79 slots each time: 1 / (1 + p 79).
  EXPECT_LT(goodput(1e-3, Retransmission::kGoBackN), 0.94);
}

// A timer that runs out tells nothing of what has come: the sender repeats its window, of the
// timeout and one message at the most.
TEST(SelectiveRepeat, LosesLittleToTimersAtHighLoss) {
  constexpr double kLoss = 1e-2;
  const double window = 4.096e6 * (1 << 3) / kSlot + 2 * 128;
  const double least = 1 / (1 / (1 - kLoss) + kLoss * kLoss * window) - 0.01;
  const double found = goodput(kLoss, Retransmission::kSelectiveRepeat);
  EXPECT_GT(found, least);
  EXPECT_LT(found, 1 - kLoss + 0.003);
}

// Nothing follows the last packet: only the timer mends its loss.
TEST(SelectiveRepeat, WaitsForTheTimerAtTheEnd) {
  for (const int timeout : {8, 14, 20}) {
    Cluster cluster = lossy_pair(0);
    cluster.faults.down = {{"node0.nic0", {}, 500_ns}};
    const WriteStream stream(cluster, {.length = {4096}, .timeout = timeout});
    EXPECT_EQ(stream.arrived().at(0), (std::int64_t{4'096'000} << timeout) + kSlot + kWay);
    EXPECT_EQ(counts(stream, 0).local_ack_timeout_err, 1);
    EXPECT_EQ(counts(stream, 0).retransmitted, 1);
  }
}

// An acknowledgement that is lost has the whole message come again, which is dropped.
TEST(SelectiveRepeat, DropsWhatComesTwice) {
  Cluster healthy = bare_wire(400_Gbps, {4096});
  healthy.node.nic.retransmission = Retransmission::kSelectiveRepeat;
  const WriteStream before(healthy, {.length = {3 * 4096}});
  Cluster cluster = healthy;
  cluster.faults.down = {{"node1.nic0", {before.arrived().at(0)}, Duration{1}}};
  const WriteStream after(cluster, {.length = {3 * 4096}, .timeout = 10});
  EXPECT_EQ(after.arrived(), before.arrived());
  EXPECT_EQ(counts(after, 0).retransmitted, 3);
  EXPECT_EQ(counts(after, 1).out_of_sequence, 0);
  EXPECT_EQ(after.done().at(0), before.done().at(0) + (std::int64_t{4'096'000} << 10));
}

TEST(SelectiveRepeat, LosesNothingOverRandomSeeds) {
  std::int64_t told = 0;
  std::int64_t timed_out = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed + 7000);
    Cluster cluster = paired_cluster(static_cast<int>(draws.between(2, 4)), 1);
    cluster.network.topology.leaves = 1;
    cluster.network.mtu = Bytes{std::int64_t{1024} << draws.below(3)};
    cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
    cluster.node.pcie_settings.tags = static_cast<int>(draws.between(1, 64));
    cluster.node.nic.transmit_buffer = Bytes{draws.between(4, 128) * 1024};
    const double rate = std::pow(10, -7 + 0.1 * static_cast<double>(draws.below(15)));
    cluster.faults.errors = {{"node0.nic0", rate, 0}, {"node1.nic0", rate, 0}};
    cluster.faults.down = {{"node1.nic0", {draws.between(0, 60) * 1'000'000}, 2_us}};
    PredictionRequest request = request_for(cluster, {draws.between(20, 300) * 1000});
    request.seed = seed;
    request.communication.slot_size = Bytes{draws.between(1, 64) * 1000};
    request.communication.slots = static_cast<int>(draws.between(1, 8));
    request.communication.queue_pairs = static_cast<int>(draws.between(1, 3));
    request.communication.timeout = static_cast<int>(draws.between(2, 7));
    const Prediction prediction = predict(request);
    ASSERT_EQ(prediction.failure, "");
    for (const PortCounters& port : prediction.counters) {
      told += port.packet_seq_err;
      timed_out += port.local_ack_timeout_err;
    }
  }
  EXPECT_GT(told, 30);
  EXPECT_GT(timed_out, 30);
}

}  // namespace
}  // namespace gradhaul
