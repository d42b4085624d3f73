// Receives that are missing when data comes (RNR), against closed forms: how long senders wait that
// find none, when none is found, and queue pairs that give up. And that every byte comes once.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/receive_queue.h"
#include "sim/predict.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Of the ideal network, as in loss_test.cpp: packets of 4096 bytes, 1 us on the way; answers take
// no time.
constexpr std::int64_t kSlot = 81'920;
constexpr std::int64_t kWay = 1'000'000;
constexpr std::int64_t kMicrosecond = 1'000'000;

// [IBTA vol. 1, table 45]: from 10 us on each code stands for twice what the second before it does,
// and 0 for what the one after 31 would.
TEST(RnrTimer, HasTheValuesOfTheStandard) {
  EXPECT_EQ(rnr_timer(1), 10_us);
  EXPECT_EQ(rnr_timer(2), 20_us);
  EXPECT_EQ(rnr_timer(3), 30_us);
  EXPECT_EQ(rnr_timer(12), 640_us);
  for (int code = 4; code < 32; ++code) EXPECT_EQ(rnr_timer(code), rnr_timer(code - 2) * 2) << code;
  EXPECT_EQ(rnr_timer(0), rnr_timer(30) * 2);
  EXPECT_EQ(rnr_timer(0), Duration{655'360'000'000});
}

Cluster late_pair(Duration late, Retransmission retransmission = Retransmission::kGoBackN) {
  Cluster cluster = ideal_cluster(2);
  cluster.network.topology.leaves = 1;
  cluster.node.nic.retransmission = retransmission;
  if (late.ps > 0) cluster.faults.late_receives = {{1, late}};
  return cluster;
}

// `receives` of a queue pair, and writes of so many packets; all are posted at once.
StreamPlan writes_of(int writes, int packets, int receives, int rnr_timer, int rnr_retry = 7) {
  StreamPlan plan{.length = {packets * 4096}, .writes = writes};
  plan.threads.receives = receives;
  plan.threads.rnr_timer = rnr_timer;
  plan.threads.rnr_retry = rnr_retry;
  return plan;
}

RecoveryCounts counts(const WriteStream& stream, int node) {
  return stream.world().packets().recovery(node, 0);
}

std::int64_t up(std::int64_t number, std::int64_t unit) { return (number + unit - 1) / unit; }

// The second packet finds the only receive taken, until that is posted again. Each try costs the
// timer, the packet, and its way.
TEST(Receives, ThatAreLateCostWholeTimers) {
  for (const auto retransmission : {Retransmission::kGoBackN, Retransmission::kSelectiveRepeat}) {
    for (const int timer : {1, 2, 12}) {
      const Duration late = 123_us;
      const WriteStream stream(late_pair(late, retransmission), writes_of(2, 1, 1, timer));
      const std::int64_t first = kSlot + kWay;
      const std::int64_t again = rnr_timer(timer).ps + kSlot + kWay;
      const std::int64_t tries = up(late.ps - kSlot, again);
      EXPECT_EQ(stream.arrived().at(0), first);
      EXPECT_EQ(stream.arrived().at(1), first + kSlot + tries * again) << timer;
      EXPECT_EQ(counts(stream, 0).rnr_nak_retry_err, tries);
      EXPECT_EQ(counts(stream, 0).retransmitted, tries);
      EXPECT_EQ(counts(stream, 0).local_ack_timeout_err, 0);
      EXPECT_EQ(counts(stream, 0).packet_seq_err, 0);
    }
  }
}

// Of a write, the last packet alone takes a receive: what came before it has come.
TEST(Receives, AreTakenByLastPackets) {
  constexpr int kPackets = 20;
  const WriteStream stream(late_pair(100_us), writes_of(2, kPackets, 1, 12));
  const std::int64_t again = rnr_timer(12).ps + kSlot + kWay;
  EXPECT_EQ(stream.arrived().at(1), 2 * kPackets * kSlot + kWay + again);
  EXPECT_EQ(counts(stream, 0).retransmitted, 1);
  EXPECT_EQ(counts(stream, 1).out_of_sequence, 0);
}

// One is missing where more than the queue holds have come before the first of them is posted
// again: receives * time of a write < lateness. To the picosecond.
TEST(Receives, SufficeForTheirLateness) {
  constexpr int kPackets = 10;
  for (const int receives : {1, 3, 8}) {
    const std::int64_t covered = receives * kPackets * kSlot;
    const WriteStream enough(late_pair({covered}), writes_of(9, kPackets, receives, 12));
    EXPECT_EQ(counts(enough, 0).rnr_nak_retry_err, 0) << receives;
    EXPECT_EQ(enough.arrived().back(), 9 * kPackets * kSlot + kWay);
    const WriteStream lacking(late_pair({covered + 1}), writes_of(9, kPackets, receives, 12));
    EXPECT_GT(counts(lacking, 0).rnr_nak_retry_err, 0) << receives;
    EXPECT_GE(lacking.arrived().back() - enough.arrived().back(), rnr_timer(12).ps);
  }
}

// With one receive and a timer longer than it is late, each write but the first is sent twice: what
// comes behind the packet that finds none is dropped unheard.
TEST(Receives, OfOneAtATimeMakeAStreamStopAndGo) {
  constexpr int kWrites = 50;
  const WriteStream stream(late_pair(5_us), writes_of(kWrites, 1, 1, 1));
  const std::int64_t again = rnr_timer(1).ps + kSlot + kWay;
  EXPECT_EQ(stream.arrived().back(), kSlot + kWay + (kWrites - 1) * (kSlot + again));
  EXPECT_EQ(counts(stream, 0).rnr_nak_retry_err, kWrites - 1);
}

// The last answer that is still heeded is the one after `rnr_retry` tries.
TEST(Receives, AreWaitedForAsOftenAsAllowed) {
  // Posted before the fourth try, and after it.
  const std::int64_t again = rnr_timer(1).ps + kSlot + kWay;
  const Cluster cluster = late_pair({kSlot + 3 * again});
  const WriteStream stream(cluster, writes_of(2, 1, 1, 1, 3));
  EXPECT_EQ(stream.arrived().at(1), 2 * kSlot + kWay + 3 * again);
  EXPECT_THROW(WriteStream(cluster, writes_of(2, 1, 1, 1, 2)), RetriesExceeded);
  EXPECT_THROW(WriteStream(late_pair({kSlot + 3 * again + 1}), writes_of(2, 1, 1, 1, 3)),
               RetriesExceeded);
}

TEST(Receives, ThatNeverComeEndTheRunAndKeepItsRows) {
  Cluster cluster = paired_cluster(3, 1);
  cluster.network.topology.leaves = 1;
  cluster.faults.late_receives = {{1, 50'000_us}};
  PredictionRequest request = request_for(cluster, 64_KiB);
  request.communication.slots = 4;
  request.communication.slot_size = 64_KiB;
  request.workload.sizes.push_back(1024_MiB);
  request.communication.rnr_retry = 2;
  const Prediction prediction = predict(request);
  ASSERT_EQ(prediction.rows.size(), 1U);
  const std::string& failure = prediction.failure;
  for (const char* part :
       {"RNR retry counter exceeded: queue pair 0 of channel ", "(node1.nic0), step ",
        " of 5: sent 3 times in a row when the receiver had posted no receive, waiting in between "
        "for 0.64 ms"}) {
    EXPECT_NE(failure.find(part), std::string::npos) << part << " in " << failure;
  }
}

// NCCL's clear-to-send entries are plain writes and take none; the verbs transport's take one each.
TEST(Receives, AreTakenByCreditsOfTheVerbsTransportAlone) {
  for (const bool nccl : {false, true}) {
    Cluster cluster = paired_cluster(2, 1);
    cluster.network.topology.leaves = 1;
    PredictionRequest request = request_for(cluster, 1_MiB);
    request.workload.collective = Collective::kBroadcast;  // from rank 0: it gets credits alone
    request.cluster.faults.late_receives = {{0, 3'000_us}};
    request.communication.channels = 1;
    request.communication.slots = 2;
    request.communication.slot_size = 16_KiB;
    if (nccl) request.communication.profile = "nccl-2.30";
    request.cluster.node.gpu.compute_capability = 90;
    const Prediction prediction = predict(request);
    EXPECT_EQ(prediction.failure, "");
    std::int64_t told = 0;
    for (const PortCounters& port : prediction.counters) {
      if (port.rnr_nak_retry_err > 0) {
        EXPECT_EQ(port.port, "node1.nic0");
      }
      told += port.rnr_nak_retry_err;
    }
    EXPECT_EQ(told > 0, !nccl);
  }
}

// Receives that might be missing and are not: the transport of always.
TEST(Receives, ThatAreThereChangeNothing) {
  PredictionRequest request = request_for(paired_cluster(3, 2), 3'000'000_B);
  request.cluster.network.topology.leaves = 1;
  request.communication.slot_size = 64_KiB;
  request.skip_recurrences = false;
  const Prediction healthy = predict(request);
  request.cluster.faults.late_receives = {{0, Duration{1}}, {1, Duration{1}}, {2, Duration{1}}};
  request.communication.receives = 100;
  const Prediction same = predict(request);
  EXPECT_EQ(same.digest, healthy.digest);
  EXPECT_EQ(same.rows.at(0).time, healthy.rows.at(0).time);
  EXPECT_EQ(same.rows.at(0).parts.size(), healthy.rows.at(0).parts.size());
}

// What was waited for is put down to the receiver.
TEST(Receives, AreBlamedOnTheReceiver) {
  PredictionRequest request = request_for(late_pair(100_us), 4_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slots = 4;
  request.communication.slot_size = 64_KiB;
  const Prediction prediction = predict(request);
  double waited = 0;
  double all = 0;
  for (const TimePart& part : prediction.rows.at(0).parts) {
    if (part.cause == "no receive posted") {
      waited += static_cast<double>(part.time.ps);
      EXPECT_EQ(part.resource, "node1.nic0");
    }
    all += static_cast<double>(part.time.ps);
  }
  EXPECT_GT(waited, 0.9 * all);
}

Cluster random_cluster(Draws& draws, std::uint64_t seed) {
  Cluster cluster =
      paired_cluster(static_cast<int>(draws.between(2, 4)), static_cast<int>(draws.between(1, 2)));
  cluster.network.topology.leaves = 1;
  cluster.network.mtu = Bytes{std::int64_t{1024} << draws.below(3)};
  if (draws.below(2) == 0) {
    cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
  }
  if (draws.below(2) == 0) {
    cluster.faults.errors = {
        {"node0.nic0", std::pow(10, -7 + 0.1 * static_cast<double>(draws.below(12))), 0}};
  }
  for (int node = 0; node < cluster.nodes; ++node) {
    if (draws.below(2) == 0 || seed % 4 == 0) {
      cluster.faults.late_receives.push_back({node, {draws.between(1, 80) * kMicrosecond}});
    }
  }
  return cluster;
}

// The engines assert that each slice comes once and in its place, the run that every byte is
// accepted once, and blame that its parts add up.
TEST(Receives, LetEveryByteComeOnceHoweverFewTheyAre) {
  std::int64_t not_ready = 0;
  std::int64_t lost = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed + 4200);
    PredictionRequest request =
        request_for(random_cluster(draws, seed), {draws.between(20, 300) * 1000});
    request.seed = seed;
    Communication& communication = request.communication;
    communication.slot_size = Bytes{draws.between(1, 64) * 1000};
    communication.slots = static_cast<int>(draws.between(2, 8));
    communication.queue_pairs = static_cast<int>(draws.between(1, 3));
    communication.timeout = static_cast<int>(draws.between(4, 7));
    communication.receives = static_cast<int>(draws.between(1, communication.slots));
    communication.rnr_timer = static_cast<int>(draws.between(1, 6));
    if (draws.below(3) == 0) communication.thread_step = 650_ns;
    if (draws.below(3) == 0) communication.protocol = Protocol::kLl128;
    const Prediction prediction = predict(request);
    ASSERT_EQ(prediction.failure, "");
    for (const PortCounters& port : prediction.counters) {
      not_ready += port.rnr_nak_retry_err;
      lost += port.dropped;
    }
    if (seed % 10 > 0) continue;
    EXPECT_EQ(predict(request).digest, prediction.digest);
  }
  EXPECT_GT(not_ready, 300);
  EXPECT_GT(lost, 30);
}

}  // namespace
}  // namespace gradhaul
