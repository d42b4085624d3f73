// Packets that are lost and sent again, against closed forms: what one loss costs in the middle of
// a stream and at its end, goodput of go-back-N, links that are down for a while, and queue pairs
// that give up. And that every byte comes once, whatever is lost.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "core/forward_error_correction.h"
#include "core/placement.h"
#include "core/schedule.h"
#include "core/topology_size.h"
#include "sim/predict.h"
#include "sim/rare_losses.h"
#include "sim/wiring.h"
#include "tests/sim/cluster_examples.h"
#include "tests/sim/draws.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// Of the ideal network: packets of 4096 bytes without headers on 50 GB/s; 1 us on the way; the NIC
// has read 64 packets ahead; answers take no time.
constexpr std::int64_t kSlot = 81'920;
constexpr std::int64_t kWay = 1'000'000;
constexpr std::int64_t kAhead = 64;

Cluster lossy_pair(double bit_error_rate) {
  Cluster cluster = ideal_cluster(2);
  cluster.network.topology.leaves = 1;
  if (bit_error_rate > 0) cluster.faults.errors = {{"node0.nic0", bit_error_rate, 0}};
  return cluster;
}

Cluster down_pair(Duration at, std::optional<Duration> lasts) {
  Cluster cluster = lossy_pair(0);
  cluster.faults.down = {{"node0.nic0", at, lasts}};
  return cluster;
}

RecoveryCounts counts(const WriteStream& stream, int node) {
  return stream.world().packets().recovery(node, 0);
}

std::int64_t up(std::int64_t number, std::int64_t unit) { return (number + unit - 1) / unit; }

// k packets in a row are lost. The first behind them tells of it, (k + 1) slots and the way after
// the first of them began; what the NIC has read by then goes before it begins again.
TEST(Loss, OfPacketsInARowCostsOneRoundAndWhatWasRead) {
  const Bytes size{1024 * 4096};
  for (const std::int64_t at : {std::int64_t{20'000'000}, std::int64_t{31'234'567}}) {
    const WriteStream stream(down_pair({at}, Duration{1}), {.length = size});
    // On the link at that moment: begun before, not yet at its end.
    const std::int64_t first = (at - kSlot - kWay) / kSlot + 1;
    const std::int64_t lost = at / kSlot - first + 1;
    const std::int64_t waited = up((lost + 1) * kSlot + kWay, kSlot) + kAhead;
    EXPECT_EQ(stream.arrived().at(0), (1024 + waited) * kSlot + kWay);
    EXPECT_EQ(counts(stream, 0).packet_seq_err, 1);
    EXPECT_EQ(counts(stream, 1).out_of_sequence, waited - lost);
    EXPECT_EQ(counts(stream, 0).retransmitted, waited);
    EXPECT_EQ(counts(stream, 0).local_ack_timeout_err, 0);
  }
}

// eta = (1 - p) / (1 - p + p W), where a loss costs W slots: one round and what was read ahead. A
// packet that is lost again is not told of again, so that p of the losses cost a timeout beside.
TEST(Loss, GoBackNHasTheGoodputOfItsClosedForm) {
  constexpr int kTimeout = 3;
  constexpr int kWrites = 400;
  const auto window = static_cast<double>(up(2 * kSlot + kWay, kSlot) + kAhead);
  const double timeout = 4.096e6 * (1 << kTimeout) / kSlot;
  for (const double loss : {1e-4, 1e-3, 5e-3, 1e-2}) {
    const double rate = -std::expm1(std::log1p(-loss) / (4096 * 8));
    const double eta = (1 - loss) / (1 - loss + loss * (window + loss * timeout));
    double slots = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const WriteStream stream(lossy_pair(rate),
                               {.writes = kWrites, .timeout = kTimeout, .seed = seed});
      slots += static_cast<double>(stream.arrived().back()) / kSlot;
    }
    EXPECT_NEAR(4 * kWrites * 128 / slots, eta, 0.02 * eta) << loss;
  }
}

// p = 1 - (1 - r)^n of n bits at a bit error rate r: of frames of 4178 and 1106 bytes, as published
// for what FEC leaves at worst.
TEST(Loss, OfAPacketIsThatOfAnyOfItsBits) {
  EXPECT_NEAR(chance_of_loss(1e-12, 4178 * 8), 3.34e-8, 0.01e-8);
  EXPECT_NEAR(chance_of_loss(1e-13, 4178 * 8), 3.34e-9, 0.01e-9);
  EXPECT_NEAR(chance_of_loss(1e-12, 1106 * 8), 8.85e-9, 0.01e-9);
  EXPECT_NEAR(chance_of_loss(1e-13, 1106 * 8), 8.85e-10, 0.01e-10);
  EXPECT_NEAR(chance_of_loss(1e-3, 1000), 1 - std::pow(0.999, 1000), 1e-12);
  EXPECT_EQ(chance_of_loss(0, 1000), 0);
  // And drawn so: within three standard deviations of what a stream of such packets loses, with
  // their headers; acknowledgements count their own bits.
  for (const std::int64_t mtu : {1024, 4096}) {
    Cluster cluster = bare_wire(400_Gbps, {mtu});
    constexpr double kRate = 3e-8;
    cluster.faults.errors = {{"node0.nic0", kRate, 0}};
    cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
    const WriteStream stream(cluster, {.length = {1 << 20}, .writes = 1024, .timeout = 3});
    const PacketEngine& engine = stream.world().engine();
    double packets = 0;
    double lost = 0;
    for (std::size_t i = 0; i < stream.world().fabric().links().size(); ++i) {
      const Link& link = stream.world().fabric().links()[i];
      const LinkLosses::Totals totals = engine.losses().totals(static_cast<LinkId>(i));
      if (link.bit_error_rate <= 0 || totals.packets < 100'000) continue;
      EXPECT_NEAR(static_cast<double>(totals.bits) / static_cast<double>(totals.packets),
                  8 * (static_cast<double>(mtu) + 26), 1)
          << link.name;
      packets += static_cast<double>(totals.packets);
      lost += static_cast<double>(totals.lost);
    }
    ASSERT_GT(packets, 200'000);
    const double chance = 1 - std::pow(1 - kRate, 8 * (static_cast<double>(mtu) + 26));
    EXPECT_NEAR(lost, packets * chance, 3 * std::sqrt(packets * chance)) << mtu;
  }
}

// Nothing follows the last packet: only the timer, 4.096 us * 2^timeout, mends its loss.
TEST(Loss, OfTheLastPacketCostsTheTimeout) {
  for (const int timeout : {8, 14, 20}) {
    const WriteStream stream(down_pair({}, 500_ns), {.length = {4096}, .timeout = timeout});
    EXPECT_EQ(stream.arrived().at(0), (std::int64_t{4'096'000} << timeout) + kSlot + kWay);
    EXPECT_EQ(counts(stream, 0).local_ack_timeout_err, 1);
  }
}

// The data is there; its sender sends it once more before it knows.
TEST(Loss, OfAnAcknowledgementDelaysTheSenderAlone) {
  const Cluster healthy = bare_wire(400_Gbps, {4096});
  const WriteStream before(healthy, {.length = {4096}});
  Cluster cluster = healthy;
  cluster.faults.down = {{"node1.nic0", {before.arrived().at(0)}, Duration{1}}};
  const WriteStream after(cluster, {.length = {4096}, .timeout = 10});
  EXPECT_EQ(after.arrived(), before.arrived());
  EXPECT_EQ(after.done().at(0), before.done().at(0) + (std::int64_t{4'096'000} << 10));
  EXPECT_EQ(counts(after, 0).retransmitted, 1);
  EXPECT_EQ(counts(after, 1).out_of_sequence, 0);
}

// It is tried again each time the timer runs out, until the link is up.
TEST(Loss, OfALinkThatIsDownCostsWholeTimeouts) {
  const std::int64_t timeout = std::int64_t{4'096'000} << 10;
  const WriteStream stream(down_pair({}, 20'000_us), {.length = {4096}, .timeout = 10});
  EXPECT_EQ(stream.arrived().at(0), up(20'000'000'000, timeout) * timeout + kSlot + kWay);
  EXPECT_EQ(counts(stream, 0).local_ack_timeout_err, 5);
}

// A rank of a ring of three sends its own chunk, and takes in four.
TEST(Loss, ThatIsForeverEndsTheRunAndKeepsItsRows) {
  Cluster cluster = paired_cluster(3, 1);
  cluster.network.topology.leaves = 1;
  cluster.faults.down = {{"node1.nic0", 1'000_us, {}}};
  PredictionRequest request = request_for(cluster, 1_MiB);
  request.workload.sizes.push_back(1024_MiB);
  request.communication.timeout = 8;
  request.communication.retry = 3;
  const Prediction prediction = predict(request);
  ASSERT_EQ(prediction.rows.size(), 1U);
  EXPECT_LT(prediction.rows[0].time, 1'000_us);
  const std::string& failure = prediction.failure;
  for (const char* part :
       {"transport retry counter exceeded: queue pair 0 of channel ", "node1.nic0) ", ", step ",
        " of 5: sent 4 times", "for 1.05 ms", "the last packet was lost on node1.nic0"}) {
    EXPECT_NE(failure.find(part), std::string::npos) << part << " in " << failure;
  }
}

// Lossy transport that loses nothing is the transport of always.
TEST(Loss, OfNothingChangesNothing) {
  PredictionRequest request = request_for(paired_cluster(3, 2), 3'000'000_B);
  request.cluster.network.topology.leaves = 1;
  request.communication.slot_size = 64_KiB;
  request.skip_recurrences = false;
  const Prediction healthy = predict(request);
  request.cluster.faults.errors = {{"node1.nic0", 1e-30, 0}};
  const Prediction same = predict(request);
  EXPECT_EQ(same.digest, healthy.digest);
  EXPECT_EQ(same.rows.at(0).time, healthy.rows.at(0).time);
  EXPECT_EQ(same.rows.at(0).parts.size(), healthy.rows.at(0).parts.size());
}

Cluster random_lossy_cluster(Draws& draws) {
  Cluster cluster =
      paired_cluster(static_cast<int>(draws.between(2, 4)), static_cast<int>(draws.between(1, 2)));
  Network& network = cluster.network;
  network.topology.leaves = 1;
  network.mtu = Bytes{std::int64_t{1024} << draws.below(3)};
  cluster.node.pcie_settings.tags = static_cast<int>(draws.between(1, 64));
  cluster.node.nic.transmit_buffer = Bytes{draws.between(4, 128) * 1024};
  if (draws.below(2) == 0) {
    network.kind = NetworkKind::kRoce;
    network.switch_buffer = {64'000'000};
    network.pause.xoff = {30'000};
    network.pause.xon = {20'000};
    network.congestion = quick_dcqcn();
    network.congestion.dcqcn = draws.below(2) == 0;
  }
  for (int node = 0; node < 2; ++node) {
    const double rate = std::pow(10, -7 + 0.1 * static_cast<double>(draws.below(15)));
    cluster.faults.errors.push_back({"node" + std::to_string(node) + ".nic0", rate, 0});
  }
  cluster.faults.down = {{"node1.nic0", {draws.between(0, 60) * 1'000'000}, 2_us}};
  return cluster;
}

// The engines assert that each slice comes once and in its place, the run that every byte is
// accepted once, and blame that its parts add up.
TEST(Loss, EveryByteComesOnceWhateverIsLost) {
  std::int64_t dropped = 0;
  std::int64_t told = 0;
  std::int64_t timed_out = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed + 900);
    PredictionRequest request =
        request_for(random_lossy_cluster(draws), {draws.between(20, 300) * 1000});
    request.seed = seed;
    request.communication.slot_size = Bytes{draws.between(1, 64) * 1000};
    request.communication.slots = static_cast<int>(draws.between(1, 8));
    request.communication.queue_pairs = static_cast<int>(draws.between(1, 3));
    request.communication.timeout = static_cast<int>(draws.between(2, 7));
    request.communication.retry = 7;
    const Prediction prediction = predict(request);
    ASSERT_EQ(prediction.failure, "");
    for (const PortCounters& port : prediction.counters) {
      dropped += port.dropped;
      told += port.packet_seq_err;
      timed_out += port.local_ack_timeout_err;
    }
    if (seed % 10 > 0) continue;
    EXPECT_EQ(predict(request).digest, prediction.digest);
  }
  EXPECT_GT(dropped, 100);
  EXPECT_GT(told, 30);
  EXPECT_GT(timed_out, 30);
}

// What GPUs of a node write to each other through PCIe has no numbers, and is whole all the same.
TEST(Loss, LeavesAloneWhatStaysInANode) {
  Cluster cluster = paired_cluster(2, 2);
  cluster.node.nvlink.reset();
  cluster.network.topology.leaves = 1;
  cluster.faults.errors = {{"node0.nic0", 1e-7, 0}};
  const Prediction prediction = predict(request_for(cluster, 4_MiB));
  EXPECT_EQ(prediction.failure, "");
  EXPECT_GT(row_us(prediction), 0);
}

// What notes say of losses too rare to be seen: of a single one, 79 slots pass until its packet is
// sent again, as above; the closed form knows no whole slots.
TEST(RareLosses, CostWhatOneCosts) {
  const Cluster cluster = lossy_pair(0);
  const Fabric fabric(cluster);
  Communication communication;
  communication.channels = 1;
  communication.timeout = 12;
  const Placement placement = place(cluster, communication, Collective::kSendRecv);
  const Wiring wiring = wire_up(fabric, placement, communication, 1, {{0, 0, 1, 0}});
  const LossCost cost = loss_cost(fabric, wiring, wiring.connections.at(0).data);
  const std::int64_t waited = up(2 * kSlot + kWay, kSlot) + kAhead;
  EXPECT_NEAR(static_cast<double>(cost.middle.ps), static_cast<double>(waited * kSlot), kSlot);
  EXPECT_EQ(cost.end.ps, std::int64_t{4'096'000} << 12);
}

// A node at each, and two uplinks that packets may go by.
Cluster two_leaves() {
  Cluster cluster = paired_cluster(2, 1);
  Network& network = cluster.network;
  network.routing = Routing::kAdaptive;
  network.topology = {};
  network.topology.kind = TopologyKind::kLeafSpine;
  network.topology.leaves = network.topology.spines = network.topology.uplinks_per_leaf = 2;
  network.topology.switch_ports = 4;
  network.oversubscription = 1;
  network.topology = size_topology(network, 2, 1).topology;
  return cluster;
}

// Where the receiver keeps what comes behind it, its own packet; where it cannot tell lost from
// late, the timeout. Both as simulated in selective_repeat_test.cpp and packet_spreading_test.cpp.
TEST(RareLosses, CostWhatTheirNicsMakeOfThem) {
  Cluster cluster = lossy_pair(0);
  cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
  Communication communication;
  communication.channels = 1;
  communication.timeout = 12;
  const auto cost = [&communication](const Cluster& of) {
    const Fabric fabric(of);
    const Placement placement = place(of, communication, Collective::kSendRecv);
    const Wiring wiring = wire_up(fabric, placement, communication, 1, {{0, 0, 1, 0}});
    return loss_cost(fabric, wiring, wiring.connections.at(0).data);
  };
  EXPECT_EQ(cost(cluster).middle, Duration{kSlot});
  EXPECT_TRUE(cost(cluster).told);
  Cluster spread = two_leaves();
  EXPECT_FALSE(cost(spread).told);
  EXPECT_EQ(cost(spread).middle.ps, std::int64_t{4'096'000} << 12);
  spread.node.nic.out_of_order = OutOfOrder::kNak;
  EXPECT_TRUE(cost(spread).told);
  EXPECT_LT(cost(spread).middle, 1000_us);
}

TEST(RareLosses, AreToldOfWithTheirNics) {
  PredictionRequest request = request_for(lossy_pair(1e-12), 4_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
  const std::string kept = predict(request).notes.at(0);
  EXPECT_NE(kept.find("costs about 0.0819 us, for itself alone; "), std::string::npos) << kept;
  request.cluster = two_leaves();
  request.cluster.faults.errors = {{"node0.nic0", 1e-14, 0}};
  const Prediction placed = predict(request);
  const std::string& note = placed.notes.at(0);
  for (const char* part : {"cannot tell a lost one from a late one: one that is lost costs the ACK "
                           "timeout, 4.29 s, and that comes ",
                           " times an hour at most, once in "}) {
    EXPECT_NE(note.find(part), std::string::npos) << part << " in " << note;
  }
}

TEST(RareLosses, ComeAsOftenAsTheirRateSays) {
  PredictionRequest request = request_for(lossy_pair(1e-12), 4_MiB);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  const Prediction prediction = predict(request);
  ASSERT_EQ(prediction.notes.size(), 1U);
  // 1024 packets of 32768 bits out and in.
  const double expected = 2048 * 32768 * 1e-12;
  const double an_hour = expected * 3600e6 / row_us(prediction);
  char text[120];
  std::snprintf(text, sizeof text,
                "%.3g of 2048 packets are lost in such a run on average, %.3g an", expected,
                an_hour);
  EXPECT_NE(prediction.notes[0].find(text), std::string::npos) << prediction.notes[0];
  // Many losses speak for themselves.
  request.cluster = lossy_pair(1e-7);
  EXPECT_TRUE(predict(request).notes.empty());
}

// RS(544,514): below 2.4e-4 before it, less than 1e-13 is left [IEEE 802.3bs]; beyond what it can
// correct, everything is lost.
TEST(ForwardErrorCorrection, LeavesWhatTheStandardSays) {
  EXPECT_LT(rate_after_fec(2.4e-4), 1e-13);
  EXPECT_GT(rate_after_fec(2.4e-4), 1e-19);
  EXPECT_GT(rate_after_fec(1e-3), 1e-9);
  EXPECT_NEAR(codeword_error_rate(0.05), 1, 1e-9);
  EXPECT_EQ(codeword_error_rate(0), 0);
}

}  // namespace
}  // namespace gradhaul
