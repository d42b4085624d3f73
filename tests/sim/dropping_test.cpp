// Ethernet that drops what its buffers cannot hold, against closed forms: what overflows in an
// incast, thresholds of a shared buffer, NICs that heed no pauses, and headroom that is too small.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/pause_headroom.h"
#include "sim/predict.h"
#include "tests/sim/draws.h"
#include "tests/sim/incast.h"
#include "tests/sim/roce_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr double kFrame = 4096 + 82;

// Cables so long that a burst is over before anybody hears of a loss.
Cluster dropping_switch(int nodes, Bytes buffer) {
  Cluster cluster = roce_switch(nodes, 400_Gbps);
  cluster.network.pause.on = false;
  cluster.network.switch_buffer = buffer;
  cluster.network.node_cable_metres = 2000;
  return cluster;
}

const LinkState& state(const Incast& incast, const std::string& link) {
  return incast.world().engine().state(incast.link(link));
}

// Two bursts of 64 frames come in at line rate, and 63 frames have gone out when the last two come:
// of the rest, what the buffer does not hold is dropped; and nothing of what is then sent again,
// since that fits.
TEST(Dropping, OfAnIncastIsWhatTheBufferDoesNotHold) {
  for (const std::int64_t buffer : {160'000, 200'000}) {
    Incast incast(dropping_switch(3, {buffer}), {{0, 2, {256 << 10}}, {1, 2, {256 << 10}}});
    incast.run();
    EXPECT_EQ(incast.arrivals(), 2);
    const double dropped = 2 * 64 - 63 - std::floor(static_cast<double>(buffer) / kFrame);
    EXPECT_NEAR(static_cast<double>(state(incast, into(2)).discarded), dropped, 1);
    EXPECT_EQ(state(incast, into(0)).discarded, 0);
  }
}

// k queues that overflow settle at alpha B / (1 + k alpha) each.
TEST(Dropping, KeepsEachQueueToItsShareByAlpha) {
  for (const int queues : {1, 2}) {
    Cluster cluster = dropping_switch(6, {400'000});
    cluster.network.pause.alpha = 0.5;
    std::vector<IncastStream> streams{{0, 4, {256 << 10}}, {1, 4, {256 << 10}}};
    if (queues == 2) {
      streams.push_back({2, 5, {256 << 10}});
      streams.push_back({3, 5, {256 << 10}});
    }
    Incast incast(cluster, streams);
    incast.run();
    EXPECT_EQ(incast.arrivals(), 2 * queues);
    const double settled = 0.5 * 400'000 / (1 + queues * 0.5);
    for (int queue = 0; queue < queues; ++queue) {
      const auto most = static_cast<double>(
          incast.world().engine().dropping().most(incast.link(into(4 + queue))));
      EXPECT_NEAR(most, settled, 2 * kFrame) << queues;
    }
  }
}

// What is never full never pauses and never drops: the same run, packet by packet.
TEST(Dropping, OfNothingIsAsPausingForNothing) {
  PredictionRequest request = request_for(roce_switch(3, 400_Gbps), 3'000'000_B);
  request.cluster.network.topology.leaves = 1;
  request.skip_recurrences = false;
  const Prediction pausing = predict(request);
  request.cluster.network.pause.on = false;
  const Prediction dropping = predict(request);
  EXPECT_EQ(dropping.digest, pausing.digest);
  EXPECT_EQ(dropping.rows.at(0).time, pausing.rows.at(0).time);
}

// A NIC that heeds no pause overflows its port of the switch; the other is held back in time.
TEST(PfcOff, OverflowsThePortThatItIsPluggedInto) {
  Cluster cluster = roce_switch(3, 400_Gbps);
  cluster.faults.pfc_off = {{"node0.nic0"}};
  Incast incast(cluster, {{0, 2, {1 << 20}, 4}, {1, 2, {1 << 20}, 4}});
  incast.run();
  EXPECT_EQ(incast.arrivals(), 8);
  EXPECT_GT(state(incast, out_of(0)).spilt, 0);
  EXPECT_EQ(state(incast, out_of(1)).spilt, 0);
  EXPECT_EQ(incast.world().engine().pauses(incast.link(out_of(0))).paused, 0);
  EXPECT_GT(incast.world().engine().pauses(incast.link(out_of(0))).frames, 0);
  EXPECT_GT(incast.world().engine().pauses(incast.link(out_of(1))).paused, 0);
}

// Two frames less than is needed lose some in one alignment or another; what is needed, in none,
// which is asserted as it runs.
TEST(ShortHeadroom, LosesInSomeAlignment) {
  constexpr int kSenders = 40;
  Cluster cluster = roce_switch(kSenders + 2, 100_Gbps);
  const Bytes needed = pause_headroom(100_Gbps, largest_packet(cluster.network),
                                      cable_latency(cluster.network.node_cable_metres),
                                      cluster.network.pause.response);
  Draws draws(7);
  std::int64_t spilt = 0;
  for (int i = 0; i < 6; ++i) {
    cluster.network.pause.headroom = needed - Bytes{2 * 4198};
    cluster.network.pause.xoff = {60'000 + draws.below(8'000)};
    cluster.network.pause.xon = cluster.network.pause.xoff - 9'408_B;
    std::vector<IncastStream> streams;
    for (int sender = 0; sender < kSenders; ++sender) {
      streams.push_back({sender, kSenders + 1, {256 << 10}, 1, 1'000'000 + draws.below(2'000'000)});
    }
    streams.push_back({kSenders, 0, {1 << 20}, 1, 0});
    Incast incast(cluster, streams);
    incast.run();
    EXPECT_EQ(incast.arrivals(), kSenders + 1);
    for (int sender = 0; sender < kSenders; ++sender) spilt += state(incast, out_of(sender)).spilt;
  }
  EXPECT_GT(spilt, 0);
}

// The engines assert that each slice comes once and in its place, the run that every byte is
// accepted once.
TEST(Dropping, EveryByteComesOnceWhateverOverflows) {
  std::int64_t switches = 0;
  std::int64_t nics = 0;
  int gave_up = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed + 40);
    Cluster cluster = paired_cluster(static_cast<int>(draws.between(3, 5)), 1);
    Network& network = cluster.network;
    network.kind = NetworkKind::kRoce;
    network.topology.leaves = 1;
    network.pause.on = false;
    network.pause.alpha = draws.below(2) == 0 ? 0 : 1;
    network.switch_buffer = {draws.between(20, 200) * 1000};
    cluster.node.nic.receive_buffer = {draws.between(9, 60) * 1000};
    PredictionRequest request = request_for(cluster, {draws.between(100, 600) * 1000});
    request.communication.algorithm = Algorithm::kParameterServer;
    request.communication.timeout = static_cast<int>(draws.between(2, 5));
    request.communication.slot_size = Bytes{draws.between(16, 128) * 1000};
    const Prediction prediction = predict(request);
    // Timers that run out together may lose the same packet to each other again and again.
    if (!prediction.failure.empty()) {
      EXPECT_NE(prediction.failure.find("retry counter exceeded"), std::string::npos);
      ++gave_up;
      continue;
    }
    for (const PortCounters& port : prediction.counters) {
      switches += port.tx_discards;
      nics += port.rx_discards;
    }
  }
  EXPECT_GT(switches, 100);
  EXPECT_GT(nics, 0);
  EXPECT_LT(gave_up, 6);
}

}  // namespace
}  // namespace gradhaul
