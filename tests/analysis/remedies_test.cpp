#include "analysis/remedies.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

// A row of 1 ms that goes where `parts` say.
struct Case {
  ResultRow row;
  std::vector<PortCounters> counters;
  std::vector<ResourceUse> resources{{"node0.nic0", "nic", 1, {}, {}},
                                     {"node0.gpu0.pcie", "pcie", 0.9, {}, {}},
                                     {"node0.sw0", "pcie_uplink", 0.9, {}, {}},
                                     {"node0.gpu0.reduce", "reduce", 0.5, {}, {}},
                                     {"leaf0-spine0", "network", 0.5, {}, {}}};
  Cluster cluster;
  Communication communication;

  Case(std::string limited_by, std::vector<TimePart> parts) {
    row.time = {1'000'000'000};
    row.size = {1'000'000'000};
    row.ranks = 2;
    row.channels = 2;
    row.limited_by = std::move(limited_by);
    row.parts = std::move(parts);
    cluster.network.node_cable_metres = 0;
    cluster.network.switch_latency = {};
    cluster.node.nic.transmit_latency = 200_ns;
  }
  std::vector<Remedy> remedies() const {
    Prediction prediction;
    prediction.rows = {row};
    prediction.resources = resources;
    prediction.counters = counters;
    return gradhaul::remedies(prediction, cluster, communication);
  }
  std::vector<Knob> knobs() const {
    std::vector<Knob> knobs;
    for (const Remedy& remedy : remedies()) knobs.push_back(remedy.knob);
    return knobs;
  }
};

TEST(Remedies, HalfOfWhatIsMadeTwiceAsFast) {
  const Case wire("node0.nic0", {{"node0.nic0", "busy", 900_us}, {"", "latency", 100_us}});
  const auto remedies = wire.remedies();
  ASSERT_EQ(remedies.size(), 2U);
  EXPECT_EQ(remedies[0].knob, Knob::kNetworkRate);
  EXPECT_EQ(remedies[0].at_most, 450_us);
  EXPECT_EQ(remedies[1].knob, Knob::kGpuMemoryLatency);
  EXPECT_EQ(remedies[1].at_most, 50_us);
}

// However little of them shows: what a healthy cluster gives is the first thing to know.
TEST(Remedies, FaultsComeBeforeAllElse) {
  Case wire("node0.nic0", {{"node0.nic0", "busy", 900_us}, {"", "latency", 100_us}});
  wire.cluster.faults.gpus = {{1, 0, 1.01}};
  EXPECT_EQ(wire.knobs().front(), Knob::kFaults);
}

TEST(Remedies, PausesWhereBuffersDrop) {
  Case dropping("node0.nic0", {{"leaf0-spine0", "ACK timeout", 900_us}, {"", "latency", 100_us}});
  dropping.cluster.network.kind = NetworkKind::kRoce;
  EXPECT_THAT(dropping.knobs(), Not(Contains(Knob::kLossless)));
  dropping.cluster.network.lossy_class = true;
  EXPECT_EQ(dropping.knobs().front(), Knob::kLossless);
  EXPECT_EQ(dropping.remedies().front().at_most, 900_us);
}

TEST(Remedies, PostReceivesWhereTheyAreFew) {
  Case lacking("nic", {{"node1.nic0", "no receive posted", 900_us}, {"", "latency", 100_us}});
  EXPECT_THAT(lacking.knobs(), Not(Contains(Knob::kReceives)));
  lacking.communication.receives = lacking.communication.slots - 1;
  EXPECT_THAT(lacking.knobs(), Contains(Knob::kReceives));
}

TEST(Remedies, KnowWhatSendsLessAgain) {
  Case asked("nic", {{"leaf0-spine0", "retransmission", 900_us}, {"", "latency", 100_us}});
  asked.cluster.nodes = 4;
  EXPECT_THAT(asked.knobs(), Not(Contains(Knob::kSelectiveRepeat)));
  EXPECT_THAT(asked.knobs(), Not(Contains(Knob::kPlacement)));
  asked.cluster.faults.errors = {{"node0.nic0", 1e-9, 0}};
  EXPECT_THAT(asked.knobs(), Contains(Knob::kSelectiveRepeat));
  asked.cluster.node.nic.retransmission = Retransmission::kSelectiveRepeat;
  EXPECT_THAT(asked.knobs(), Not(Contains(Knob::kSelectiveRepeat)));
  asked.cluster.faults = {};
  asked.cluster.network.topology.leaves = 2;
  asked.cluster.network.topology.uplinks_per_leaf = 2;
  asked.cluster.network.routing = Routing::kSpray;
  EXPECT_THAT(asked.knobs(), Not(Contains(Knob::kPlacement)));
  asked.cluster.node.nic.out_of_order = OutOfOrder::kNak;
  EXPECT_EQ(asked.knobs().front(), Knob::kPlacement);
}

// Where leaves have several uplinks and one of them limits.
TEST(Remedies, KnowOtherWays) {
  Case meeting("leaf0-spine0", {{"leaf0-spine0", "busy", 900_us}, {"", "latency", 100_us}});
  EXPECT_THAT(meeting.knobs(), Not(Contains(Knob::kAdaptiveRouting)));
  meeting.cluster.network.topology.leaves = 2;
  meeting.cluster.network.topology.uplinks_per_leaf = 2;
  EXPECT_THAT(meeting.knobs(), Contains(Knob::kAdaptiveRouting));
  meeting.cluster.network.routing = Routing::kAdaptive;
  EXPECT_THAT(meeting.knobs(), Not(Contains(Knob::kAdaptiveRouting)));
}

TEST(Remedies, KnowTheShorterWayRoundARing) {
  Case round("leaf0-spine0", {{"leaf0-spine0", "busy", 900_us}, {"", "latency", 100_us}});
  round.cluster.network.topology.way = RingWay::kUpDown;
  EXPECT_THAT(round.knobs(), Not(Contains(Knob::kRingWay)));
  round.cluster.network.topology.kind = TopologyKind::kRing;
  EXPECT_THAT(round.knobs(), Contains(Knob::kRingWay));
  round.cluster.network.topology.way = RingWay::kShortest;
  EXPECT_THAT(round.knobs(), Not(Contains(Knob::kRingWay)));
}

// What sends data through the host is worth knowing as faults are, where it is in use.
TEST(Remedies, KnowTheWayThroughTheHost) {
  Case staged("node0.sw0", {{"node0.sw0", "busy", 900_us}, {"", "starting copies", 100_us}});
  EXPECT_THAT(staged.knobs(), Not(Contains(Knob::kGpuDirect)));
  staged.cluster.nodes = 2;
  staged.cluster.node.gpu.pcie = PcieLink{};
  staged.cluster.node.pcie = {{"sw0", "socket0", PcieLink{}, {"gpu0", "nic0"}}};
  EXPECT_THAT(staged.knobs(), Not(Contains(Knob::kGpuDirect)));
  staged.communication.gpudirect = GpuDirect::kOff;
  EXPECT_EQ(staged.knobs().front(), Knob::kGpuDirect);
  EXPECT_THAT(staged.knobs(), Contains(Knob::kCopySetup));
  EXPECT_THAT(staged.knobs(), Not(Contains(Knob::kAcs)));
  staged.communication.gpudirect = GpuDirect::kAuto;
  staged.cluster.node.pcie_settings.acs = true;
  EXPECT_EQ(staged.knobs().front(), Knob::kAcs);
  EXPECT_THAT(staged.knobs(), Not(Contains(Knob::kGpuDirect)));
}

// All that the host's cores cost is TCP's, and GPUDirect is no way round it.
TEST(Remedies, KnowThatRdmaCopiesNothing) {
  Case tcp("node0.gpu0.thread", {{"node0.gpu0.thread", "busy", 700_us},
                                 {"", "interrupt and wake-up", 200_us},
                                 {"", "starting copies", 100_us}});
  tcp.resources.push_back({"node0.gpu0.thread", "thread", 1, {}, {}});
  tcp.cluster.nodes = 2;
  tcp.communication.gpudirect = GpuDirect::kOff;
  EXPECT_THAT(tcp.knobs(), Not(Contains(Knob::kRdma)));
  tcp.cluster.network.tcp = TcpSettings{};
  EXPECT_EQ(tcp.remedies().at(0).knob, Knob::kRdma);
  EXPECT_EQ(tcp.remedies().at(0).at_most, 1000_us);
  EXPECT_EQ(tcp.remedies().at(1).knob, Knob::kTcpCores);
  EXPECT_EQ(tcp.remedies().at(1).at_most, 350_us);
  EXPECT_THAT(tcp.knobs(), Not(Contains(Knob::kGpuDirect)));
  EXPECT_THAT(tcp.knobs(), Not(Contains(Knob::kPolling)));
}

TEST(Remedies, KnowWhatThreadsDo) {
  Case each("latency", {{"", "registering memory", 1000_us}});
  EXPECT_EQ(each.remedies().at(0).knob, Knob::kRegisterOnce);
  EXPECT_EQ(each.remedies().at(0).at_most, 1000_us);
  EXPECT_THAT(each.knobs(), Contains(Knob::kPageSize));
  each.communication.registration.page = {2 << 20};
  EXPECT_THAT(each.knobs(), Not(Contains(Knob::kPageSize)));
  // 351 of 626 ns of a post are the fetch.
  Case post("latency", {{"", "post and doorbell", 626_us}});
  post.cluster.node.nic.post = 75_ns;
  post.cluster.node.nic.doorbell = 200_ns;
  post.cluster.node.nic.wqe_fetch = 351_ns;
  EXPECT_EQ(post.remedies().at(0).knob, Knob::kBlueFlame);
  EXPECT_NEAR(static_cast<double>(post.remedies().at(0).at_most.ps), 351e6, 1);
}

TEST(Remedies, KnowWhatNicsWaitFor) {
  const auto first = [](const char* cause) {
    return Case("latency", {{"", cause, 1000_us}}).remedies().at(0);
  };
  EXPECT_EQ(first("flush").knob, Knob::kNoFlush);
  EXPECT_EQ(first("flush").at_most, 1000_us);
  EXPECT_EQ(first("context misses").knob, Knob::kContextCache);
  EXPECT_EQ(first("queue pair rate").knob, Knob::kQueuePairRate);
  EXPECT_EQ(first("queue pair rate").at_most, 500_us);
}

TEST(Remedies, WhatLimitsComesFirstHoweverLittleItIsBlamed) {
  const Case wire("node0.nic0 (4 equal)",
                  {{"node0.gpu0.pcie", "busy", 900_us}, {"node0.nic0", "busy", 100_us}});
  EXPECT_EQ(wire.knobs().front(), Knob::kNetworkRate);
  const Case slots("slots", {{"node0.gpu0.pcie", "busy", 900_us}, {"", "slot credits", 100_us}});
  EXPECT_EQ(slots.knobs().front(), Knob::kSlots);
}

TEST(Remedies, CausesPointAtTheirKnobs) {
  const auto first = [](TimePart part) {
    part.time = 1000_us;
    Case one("latency", {std::move(part)});
    one.communication.protocol = Protocol::kLl;  // else that is another way
    return one.knobs().at(0);
  };
  EXPECT_EQ(first({"", "kernel launch", {}}), Knob::kLaunch);
  EXPECT_EQ(first({"", "kernel and host flags", {}}), Knob::kFlags);
  EXPECT_EQ(first({"", "post and doorbell", {}}), Knob::kPosting);
  EXPECT_EQ(first({"", "completion", {}}), Knob::kCompletion);
  EXPECT_EQ(first({"", "interrupt and wake-up", {}}), Knob::kPolling);
  EXPECT_EQ(first({"", "communication thread", {}}), Knob::kThreadStep);
  EXPECT_EQ(first({"node0.nic0", "latency", {}}), Knob::kNicLatency);
  EXPECT_EQ(first({"node0.gpu0.pcie", "latency", {}}), Knob::kPcieHopLatency);
  EXPECT_EQ(first({"node0.sw0", "latency", {}}), Knob::kRootComplexLatency);
  EXPECT_EQ(first({"node0.nic0", "reads outstanding", {}}), Knob::kReadRoom);
  EXPECT_EQ(first({"node0.gpu0.pcie", "credits", {}}), Knob::kPcieCredits);
  EXPECT_EQ(first({"leaf0-spine0", "credits", {}}), Knob::kNetworkBuffer);
  EXPECT_EQ(first({"leaf0-spine0", "busy", {}}), Knob::kNetworkRate);
  EXPECT_EQ(first({"node0.gpu0.reduce", "busy", {}}), Knob::kReduceRate);
}

// Reads of host memory come down an uplink in pieces of 64 bytes: 128 credits of them in 200 ns are
// 40.96 GB/s, 12 % less than what the headers of PCIe 5 leave.
TEST(Remedies, KnowCreditsOfWhatIsReadFromHostMemory) {
  Case uplink("node0.sw0", {{"node0.sw0", "busy", 1000_us}});
  uplink.cluster.nodes = 2;
  uplink.cluster.node.gpu.pcie = uplink.cluster.node.nic.pcie = PcieLink{5, 16};
  uplink.cluster.node.pcie = {{"sw0", "socket0", PcieLink{5, 16}, {"gpu0", "nic0"}}};
  EXPECT_THAT(uplink.knobs(), Not(Contains(Knob::kPcieCredits)));
  uplink.communication.gpudirect = GpuDirect::kOff;
  const auto remedies = uplink.remedies();
  const auto credits = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.knob == Knob::kPcieCredits;
  });
  ASSERT_NE(credits, remedies.end());
  EXPECT_NEAR(static_cast<double>(credits->at_most.ps), 1e9 * (1 - 40.96 / 46.57), 1e6);
  uplink.cluster.node.pcie_settings.posted_header_credits = 256;
  EXPECT_THAT(uplink.knobs(), Not(Contains(Knob::kPcieCredits)));
}

// 26 bytes a packet: (1 + 26/4096) of (1 + 26/1024) remain.
TEST(Remedies, LargerPacketsSaveHeaders) {
  Case wire("node0.nic0", {{"node0.nic0", "busy", 1000_us}});
  EXPECT_THAT(wire.knobs(), Not(Contains(Knob::kMtu)));
  wire.cluster.network.mtu = 1024_B;
  const auto remedies = wire.remedies();
  ASSERT_EQ(remedies.back().knob, Knob::kMtu);
  const double saved = 1 - (4096 + 26) / 4096.0 / ((1024 + 26) / 1024.0);
  EXPECT_NEAR(remedies.back().at_most.microseconds(), 1000 * saved, 1e-3);
  // 82 over Ethernet.
  wire.cluster.network.kind = NetworkKind::kRoce;
  const double more = 1 - (4096 + 82) / 4096.0 / ((1024 + 82) / 1024.0);
  ASSERT_EQ(wire.remedies().back().knob, Knob::kMtu);
  EXPECT_NEAR(wire.remedies().back().at_most.microseconds(), 1000 * more, 1e-3);
}

// What takes another plan and no other cluster.
TEST(Remedies, KnowOtherPlans) {
  Case server("node0.nic0", {{"node0.nic0", "busy", 1000_us}});
  EXPECT_THAT(server.knobs(), Not(Contains(Knob::kRing)));
  server.communication.algorithm = Algorithm::kParameterServer;
  EXPECT_EQ(server.knobs().front(), Knob::kRing);
  // Chunks of 250 MB, sent and then reduced: at best the shorter hides behind the longer.
  Case whole("node0.nic0", {{"node0.nic0", "busy", 600_us}, {"node0.gpu0.reduce", "busy", 400_us}});
  EXPECT_THAT(whole.knobs(), Not(Contains(Knob::kSlices)));
  whole.communication.slot_size = {250'000'000};
  EXPECT_EQ(whole.remedies().front().knob, Knob::kSlices);
  EXPECT_EQ(whole.remedies().front().at_most, 400_us);
  Case small("latency", {{"", "completion", 300_us}, {"", "latency", 700_us}});
  EXPECT_THAT(small.knobs(), Contains(Knob::kLines));
  small.communication.protocol = Protocol::kLl;
  EXPECT_THAT(small.knobs(), Not(Contains(Knob::kLines)));
}

// A connection's one queue pair takes one port of a bond, and one of several ways.
TEST(Remedies, KnowThatQueuePairsSpread) {
  Case wire("node0.nic0", {{"node0.nic0", "busy", 1000_us}});
  EXPECT_THAT(wire.knobs(), Not(Contains(Knob::kQueuePairs)));
  wire.cluster.node.bonded_nics = true;
  EXPECT_EQ(wire.knobs().front(), Knob::kQueuePairs);
  Case uplink("leaf0-spine0", {{"leaf0-spine0", "busy", 1000_us}});
  uplink.cluster.network.topology.leaves = 2;
  EXPECT_THAT(uplink.knobs(), Not(Contains(Knob::kQueuePairs)));
  uplink.cluster.network.routing = Routing::kEcmp;
  EXPECT_THAT(uplink.knobs(), Contains(Knob::kQueuePairs));
}

// A chunk of 250 MB travels in many slices; one that fits into a slot does not care.
TEST(Remedies, SlotSizesMatterWhereChunksAreCut) {
  Case cut("node0.nic0", {{"", "post and doorbell", 500_us},
                          {"node0.gpu0.reduce", "busy", 250_us},
                          {"node0.nic0", "busy", 250_us}});
  EXPECT_THAT(cut.knobs(), Contains(Knob::kLargerSlots));
  EXPECT_THAT(cut.knobs(), Contains(Knob::kSmallerSlots));
  cut.communication.slot_size = 1_MiB * 1024;
  EXPECT_THAT(cut.knobs(), Not(Contains(Knob::kLargerSlots)));
  EXPECT_THAT(cut.knobs(), Not(Contains(Knob::kSmallerSlots)));
}

// 250 MB in slices of 512 KiB: more slots have more of them on the way at once.
TEST(Remedies, AWayThatIsLongAsksForSlots) {
  Case far("latency", {{"node0.nic0", "latency", 1000_us}});
  EXPECT_THAT(far.knobs(), Contains(Knob::kSlots));
  far.communication.slots = 1024;
  EXPECT_THAT(far.knobs(), Not(Contains(Knob::kSlots)));
}

// The path may blame whoever waits behind the port that lacks credits; the port's counter knows.
TEST(Remedies, CountersAskForBuffers) {
  Case wire("slots", {{"", "slot credits", 1000_us}});
  EXPECT_THAT(wire.knobs(), Not(Contains(Knob::kNetworkBuffer)));
  PortCounters port;
  port.port = "leaf0:1";
  port.out_of_credits = 800_us;
  wire.counters = {port, PortCounters{}};
  const auto remedies = wire.remedies();
  const auto buffer = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
    return remedy.knob == Knob::kNetworkBuffer;
  });
  ASSERT_NE(buffer, remedies.end());
  EXPECT_EQ(buffer->at_most, 400_us);
}

TEST(Remedies, TriflesAreLeftOut) {
  const Case idle("latency", {{"", "kernel launch", {1'900'000}}, {"x", "unheard of", 998_us}});
  EXPECT_THAT(idle.knobs(), IsEmpty());
}

}  // namespace
}  // namespace gradhaul
