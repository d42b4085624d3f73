// DCQCN end to end: senders that share a port converge on equal shares of it, queues stay short
// enough that hardly anybody is paused, and who meets no queue is left alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/network_framing.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/incast.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

Cluster lossless_switch(int nodes) {
  Node node = bare_node(1, 5);
  node.pcie.clear();
  Cluster cluster = one_switch(node, nodes, 100_Gbps);
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.switch_latency = 400_ns;
  network.pause.xoff = {500'000};
  network.pause.xon = {450'000};
  network.pause.response = 2_us;
  return cluster;
}

// As the HPCC experiments set it for 100 Gb/s, with timers that converge within a millisecond.
void add_dcqcn(Cluster& cluster) {
  CongestionControl& control = cluster.network.congestion;
  control.dcqcn = true;
  control.kmin = {100'000};
  control.kmax = {400'000};
  control.pmax = 0.2;
  control.notification_interval = 4_us;
  control.gain = 1.0 / 256;
  control.initial_alpha = 1;
  control.alpha_timer = 10_us;
  control.decrease_interval = 10_us;
  control.increase_timer = 40_us;
  control.fast_recovery = 1;
  control.additive_increase = BitRate{200'000'000};
  control.hyper_increase = BitRate{1'000'000'000};
  control.least_rate = BitRate{100'000'000};
}

struct Shares {
  double goodput = 0;  // bytes a second of all
  double least = 0;    // of one sender, in equal shares
  double most = 0;
  std::int64_t paused = 0;  // ps, all senders
  std::int64_t marked = 0;
};

// All senders for `milliseconds`, the first of which do not count.
Shares shares_of(Cluster cluster, int senders) {
  std::vector<IncastStream> streams;
  for (int i = 0; i < senders; ++i) {
    streams.push_back({i, senders, {1 << 20}, 2000, i * 3'000'000});
  }
  Incast incast(cluster, streams);
  const auto sent = [&] {
    std::vector<double> bytes;
    for (int i = 0; i < senders; ++i) {
      const LinkId out = incast.link("node" + std::to_string(i) + ".nic0.out");
      bytes.push_back(static_cast<double>(incast.world().engine().state(out).payload_total));
    }
    return bytes;
  };
  constexpr std::int64_t kMillisecond = 1'000'000'000;
  incast.run(10 * kMillisecond);
  const std::int64_t from = incast.world().now();
  const std::vector<double> before = sent();
  incast.run(30 * kMillisecond);
  const double seconds = static_cast<double>(incast.world().now() - from) * 1e-12;
  const std::vector<double> after = sent();
  Shares shares;
  shares.least = 1e300;
  for (int i = 0; i < senders; ++i) {
    const double rate = (after[i] - before[i]) / seconds;
    shares.goodput += rate;
    shares.least = std::min(shares.least, rate);
    shares.most = std::max(shares.most, rate);
    const LinkId out = incast.link("node" + std::to_string(i) + ".nic0.out");
    shares.paused += incast.world().engine().pauses(out).paused;
  }
  shares.least *= senders / shares.goodput;
  shares.most *= senders / shares.goodput;
  const LinkId in = incast.link("node" + std::to_string(senders) + ".nic0.in");
  shares.marked = incast.world().engine().state(in).marked;
  return shares;
}

constexpr double kPort = 12.5e9 * 4096 / 4178;

TEST(Dcqcn, SharesAPortEquallyAndKeepsItBusy) {
  for (const int senders : {2, 4}) {
    Cluster cluster = lossless_switch(senders + 1);
    add_dcqcn(cluster);
    const Shares shares = shares_of(cluster, senders);
    EXPECT_LE(shares.goodput, kPort * 1.0001);
    EXPECT_GT(shares.goodput, kPort * 0.9);
    EXPECT_GT(shares.least, 0.8) << senders;
    EXPECT_LT(shares.most, 1.2) << senders;
    EXPECT_GT(shares.marked, 0);
  }
}

// Who had the port to itself gives up half of it to who comes later, and both stay there: the
// shares of each of so many milliseconds.
TEST(Dcqcn, ConvergesFromAnyShares) {
  Cluster cluster = lossless_switch(3);
  add_dcqcn(cluster);
  constexpr std::int64_t kMillisecond = 1'000'000'000;
  Incast incast(cluster, {{0, 2, {1 << 20}, 2000, 0}, {1, 2, {1 << 20}, 2000, 5 * kMillisecond}});
  const auto sent = [&](int node) {
    const LinkId out = incast.link("node" + std::to_string(node) + ".nic0.out");
    return static_cast<double>(incast.world().engine().state(out).payload_total);
  };
  const auto share_until = [&](std::int64_t end) {
    const double before[] = {sent(0), sent(1)};
    incast.run(end * kMillisecond);
    const double of_first = sent(0) - before[0];
    return of_first / (of_first + sent(1) - before[1]);
  };
  EXPECT_EQ(share_until(4), 1);
  share_until(15);
  double mean = 0;
  for (int end = 20; end <= 60; end += 5) {
    const double share = share_until(end);
    EXPECT_NEAR(share, 0.5, 0.15) << "up to " << end << " ms";
    mean += share / 9;
  }
  EXPECT_NEAR(mean, 0.5, 0.025) << "5 % of a share";
}

TEST(Dcqcn, SparesThePauses) {
  Cluster cluster = lossless_switch(5);
  const Shares without = shares_of(cluster, 4);
  add_dcqcn(cluster);
  const Shares with = shares_of(cluster, 4);
  EXPECT_GT(without.paused, 0);
  EXPECT_LT(with.paused, without.paused / 20);
}

// A ring whose links are never shared meets no queue: nothing is marked, and it takes as long.
TEST(Dcqcn, LeavesAloneWhoMeetsNoQueue) {
  Cluster cluster = lossless_switch(4);
  PredictionRequest request = request_for(cluster, {16 << 20});
  const Prediction without = predict(request);
  add_dcqcn(request.cluster);
  const Prediction with = predict(request);
  EXPECT_EQ(with.rows.at(0).time, without.rows.at(0).time);
  EXPECT_TRUE(with.exact);
}

std::int64_t marked_of(const Prediction& prediction) {
  std::int64_t marked = 0;
  for (const PortCounters& port : prediction.counters) marked += port.ecn_marked;
  return marked;
}

// Two children of a tree send to one parent. Draws are by seed: the same again, and others with
// another.
TEST(Dcqcn, DrawsBySeed) {
  Cluster cluster = lossless_switch(6);
  add_dcqcn(cluster);
  cluster.network.congestion.kmin = {10'000};
  cluster.network.congestion.kmax = {400'000};
  PredictionRequest request = request_for(cluster, {6 << 20});
  request.communication.algorithm = Algorithm::kDoubleBinaryTree;
  const Prediction first = predict(request);
  EXPECT_GT(marked_of(first), 0);
  EXPECT_EQ(predict(request).digest, first.digest);
  request.seed = 2;
  EXPECT_NE(predict(request).digest, first.digest);
  // What is drawn is never skipped.
  EXPECT_EQ(first.cost.skipped_packet_hops, 0);
}

}  // namespace
}  // namespace gradhaul
