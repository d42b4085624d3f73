// What a knob means in a scenario, read back from the settings that turn it.

#include "scenarios/what_if.h"

#include <gmock/gmock.h>

#include "scenarios/references.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kKnobs = static_cast<int>(Knob::kSlices) + 1;

struct Turned {
  WhatIf what;
  Scenario before;
  Scenario after;
};

Turned turned(Knob knob, const std::vector<std::string>& settings = {}, int channels = 16) {
  Turned turned;
  turned.before = good(kSmallScenario, settings);
  turned.what = what_if(knob, turned.before, channels);
  EXPECT_THAT(turned.what.obstacle, IsEmpty());
  std::vector<std::string> all = settings;
  all.insert(all.end(), turned.what.settings.begin(), turned.what.settings.end());
  turned.after = good(kSmallScenario, all);
  return turned;
}

// Each is refused or changes something, and what it says is not empty.
TEST(WhatIf, EveryKnobTurnsOrSaysWhyNot) {
  const Library library(GRADHAUL_SCENARIOS);
  for (const std::string& node : library.names("nodes")) {
    const std::string network = node == "ideal" ? "ideal" : "edr";
    const std::vector<std::string> settings{"cluster.node=" + node, "cluster.network=" + network};
    const Scenario before = good(kSmallScenario, settings);
    for (int i = 0; i < kKnobs; ++i) {
      const WhatIf what = what_if(static_cast<Knob>(i), before, 8);
      SCOPED_TRACE(node + ": " + std::to_string(i) + " " + what.change);
      EXPECT_EQ(what.settings.empty(), !what.obstacle.empty());
      if (what.settings.empty()) continue;
      EXPECT_THAT(what.change, Not(IsEmpty()));
      std::vector<std::string> all = settings;
      all.insert(all.end(), what.settings.begin(), what.settings.end());
      // The MTU may be what it was: the path points at it only where it is smaller.
      if (what.knob != Knob::kMtu) {
        EXPECT_NE(good(kSmallScenario, all).effective(), before.effective());
      }
    }
  }
}

TEST(WhatIf, MendsWhatIsWrong) {
  const std::vector<std::string> wrong{
      "cluster.faults=[{link: node0.nic0, speed: 100Gb/s}, {gpu: node1.gpu0, slowdown: 2}]"};
  const Turned mended = turned(Knob::kFaults, wrong);
  EXPECT_FALSE(mended.before.cluster.faults.empty());
  EXPECT_TRUE(mended.after.cluster.faults.empty());
  EXPECT_EQ(mended.after.effective(), good(kSmallScenario).effective());
}

TEST(WhatIf, NetworkRateTakesThePortAlongAndLeavesPcie) {
  const Turned faster = turned(Knob::kNetworkRate);
  EXPECT_EQ(faster.after.cluster.network.link, 800_Gbps);
  EXPECT_EQ(faster.after.cluster.node.nic.rate, 800_Gbps);
  EXPECT_EQ(faster.after.cluster.node.nic.pcie, faster.before.cluster.node.nic.pcie);
  EXPECT_EQ(faster.what.change, "network links and NIC ports of 800Gb/s instead of 400Gb/s");
  // Where the port has room, it stays.
  const Turned slow = turned(Knob::kNetworkRate, {"cluster.network=edr"});
  EXPECT_EQ(slow.after.cluster.network.link, 200_Gbps);
  EXPECT_THAT(slow.what.settings, ElementsAre("cluster.network.link=200Gb/s"));
}

TEST(WhatIf, ThreadsGoToTheSocketsOfTheirGpus) {
  const Turned near = turned(Knob::kThreadPlacement, {"communication.thread_placement=socket1"});
  const ThreadPlacement first{ThreadPlacement::At::kOne, 1};
  EXPECT_EQ(near.before.cluster.threads, first);
  EXPECT_EQ(near.after.cluster.threads, ThreadPlacement{});
  EXPECT_EQ(near.what.change, "communication threads at the sockets of the GPUs they serve");
}

TEST(WhatIf, ARingOfLeavesTakesMoreCablesAndNoAdaptiveRouting) {
  const std::vector<std::string> ring{"cluster.network.topology={kind: ring, leaves: 4}"};
  const Turned more = turned(Knob::kMoreUplinks, ring);
  EXPECT_EQ(more.before.cluster.network.topology.uplinks_per_leaf, 8);
  EXPECT_EQ(more.after.cluster.network.topology.uplinks_per_leaf, 16);
  EXPECT_THAT(what_if(Knob::kAdaptiveRouting, good(kSmallScenario, ring), 16).obstacle,
              HasSubstr("one way"));
}

TEST(WhatIf, PacketsTakeTheShorterWayRoundARing) {
  const std::string kind = "cluster.network.topology={kind: ring, leaves: 4, way: ";
  for (const char* way : {"clockwise", "up_down"}) {
    const Turned shorter = turned(Knob::kRingWay, {kind + way + "}"});
    EXPECT_NE(shorter.before.cluster.network.topology.way, RingWay::kShortest);
    EXPECT_EQ(shorter.after.cluster.network.topology.way, RingWay::kShortest);
  }
  EXPECT_THAT(what_if(Knob::kRingWay, good(kSmallScenario, {kind + "shortest}"}), 16).obstacle,
              HasSubstr("already"));
  EXPECT_THAT(what_if(Knob::kRingWay, good(kSmallScenario), 16).obstacle, HasSubstr("in a ring"));
}

TEST(WhatIf, DevicesGoOneGenerationOn) {
  const Turned devices = turned(Knob::kDevicePcie);
  EXPECT_EQ(devices.after.cluster.node.gpu.pcie, (PcieLink{6, 16}));
  EXPECT_EQ(devices.after.cluster.node.nic.pcie, (PcieLink{6, 16}));
  EXPECT_EQ(devices.after.cluster.node.pcie[0].link, (PcieLink{5, 16}));
  EXPECT_EQ(devices.what.change, "PCIe links of GPUs and NICs of gen6x16 instead of gen5x16");
  // A link at a socket caps its devices and comes along.
  const Turned capped =
      turned(Knob::kDevicePcie, {"cluster.node=bad-uplink-gen3", "cluster.network=hdr"});
  EXPECT_EQ(capped.after.cluster.node.pcie[1].link, (PcieLink{4, 16}));
  EXPECT_EQ(capped.after.cluster.node.pcie[0].link, (PcieLink{3, 16}));
}

TEST(WhatIf, UplinksOfSwitchesAreTheirOwn) {
  const Turned uplinks =
      turned(Knob::kPcieUplink, {"cluster.node=bad-uplink-gen3", "cluster.network=hdr"});
  EXPECT_EQ(uplinks.after.cluster.node.pcie[0].link, (PcieLink{4, 16}));
  EXPECT_EQ(uplinks.after.cluster.node.pcie[1].link, (PcieLink{3, 16}));
  EXPECT_THAT(uplinks.what.change, HasSubstr("gen4x16 instead of gen3x16"));
}

TEST(WhatIf, TheLastGenerationTakesMoreLanesOrNone) {
  const std::string gpu = "cluster.node.gpus.model.pcie=";
  const std::string nic = "cluster.node.nics.model.pcie=";
  const Turned lanes = turned(Knob::kDevicePcie, {gpu + "gen6x8", nic + "gen6x16"});
  EXPECT_EQ(lanes.after.cluster.node.gpu.pcie, (PcieLink{6, 16}));
  const Scenario last = good(kSmallScenario, {gpu + "gen6x16", nic + "gen6x16"});
  EXPECT_THAT(what_if(Knob::kDevicePcie, last, 16).obstacle,
              HasSubstr("gen6x16 is the fastest PCIe link"));
}

// Which the ports of Ethernet have to let through.
TEST(WhatIf, LargerPacketsTakeThePortAlong) {
  const Turned roce = turned(Knob::kMtu, {"cluster.network=roce", "cluster.network.port_mtu=1500B",
                                          "cluster.network.mtu=auto"});
  EXPECT_EQ(roce.before.cluster.network.mtu, 1024_B);
  EXPECT_EQ(roce.after.cluster.network.mtu, 4096_B);
  EXPECT_EQ(roce.what.change, "packets of 4096B instead of 1024B");
  EXPECT_THAT(turned(Knob::kMtu, {"cluster.network.mtu=1024B"}).what.settings,
              ElementsAre("cluster.network.mtu=4096B"));
}

TEST(WhatIf, QueuePairsAreSixteenOrTwiceAsMany) {
  EXPECT_EQ(turned(Knob::kQueuePairs).after.communication.queue_pairs, 16);
  const Turned more = turned(Knob::kQueuePairs, {"communication.queue_pairs=12"});
  EXPECT_EQ(more.after.communication.queue_pairs, 24);
  EXPECT_EQ(more.what.change, "24 queue pairs a connection instead of 12");
}

TEST(WhatIf, OtherPlansAreRingsLinesAndSlices) {
  const Turned ring = turned(Knob::kRing, {"communication.algorithm=parameter_server"});
  EXPECT_EQ(ring.before.communication.algorithm, Algorithm::kParameterServer);
  EXPECT_EQ(ring.after.communication.algorithm, Algorithm::kRing);
  EXPECT_EQ(turned(Knob::kLines).after.communication.protocol, Protocol::kLl);
  const Turned slices =
      turned(Knob::kSlices, {"communication.slots=1", "communication.slot_size=32MiB"});
  EXPECT_EQ(slices.after.communication.slots, 8);
  EXPECT_EQ(slices.after.communication.slot_size, 512_KiB);
  const Scenario plain = good(kSmallScenario);
  EXPECT_THAT(what_if(Knob::kRing, plain, 16).obstacle, HasSubstr("no parameter server"));
  EXPECT_THAT(what_if(Knob::kSlices, plain, 16).settings, IsEmpty());
}

// Faster kernels would make `channels: auto` take fewer of them.
TEST(WhatIf, FasterKernelsKeepTheChannels) {
  const Turned reducing = turned(Knob::kReduceRate);
  EXPECT_EQ(reducing.after.cluster.node.gpu.reduce_bandwidth, 74_GBps);
  EXPECT_EQ(reducing.after.communication.channels, 16);
  const Turned given = turned(Knob::kReduceRate, {"communication.channels=8"});
  EXPECT_EQ(given.what.settings.size(), 1U);
  EXPECT_EQ(turned(Knob::kChannels).after.communication.channels, 24);
}

TEST(WhatIf, LosslessIsWhateverIsNot) {
  const std::string roce = "cluster.network=roce";
  const auto after = [&](const std::string& setting) {
    return turned(Knob::kLossless, {roce, setting}).after;
  };
  EXPECT_FALSE(after("cluster.network.flow_control=none").cluster.network.drops());
  EXPECT_FALSE(after("communication.traffic_class=0").cluster.network.drops());
  EXPECT_FALSE(after("cluster.network.flow_control={kind: pfc, headroom: 50kB}")
                   .cluster.network.pause.headroom);
  EXPECT_THAT(what_if(Knob::kLossless, good(kSmallScenario, {roce}), 16).obstacle,
              HasSubstr("drops"));
}

TEST(WhatIf, RoutingAndRecovery) {
  const std::vector<std::string> leaves{"cluster.network=roce-rails",
                                        "cluster.network.topology.kind=leaf_spine",
                                        "cluster.network.topology.switch_ports=24"};
  EXPECT_EQ(turned(Knob::kAdaptiveRouting, leaves).after.cluster.network.routing,
            Routing::kAdaptive);
  EXPECT_THAT(what_if(Knob::kAdaptiveRouting, good(kSmallScenario), 16).obstacle,
              HasSubstr("one way"));
  std::vector<std::string> asking = leaves;
  asking.emplace_back("cluster.network.routing=spray");
  asking.emplace_back("cluster.node.nics.model.out_of_order=nak");
  EXPECT_EQ(turned(Knob::kPlacement, asking).after.cluster.node.nic.out_of_order,
            OutOfOrder::kPlace);
  EXPECT_EQ(turned(Knob::kSelectiveRepeat, asking).after.cluster.node.nic.retransmission,
            Retransmission::kSelectiveRepeat);
  for (const Knob knob : {Knob::kPlacement, Knob::kSelectiveRepeat}) {
    EXPECT_THAT(what_if(knob, good(kSmallScenario), 16).obstacle, HasSubstr("no NIC"));
  }
}

TEST(WhatIf, ReceivesAreAsManyAsSlots) {
  EXPECT_FALSE(turned(Knob::kReceives, {"communication.receives=3"}).after.communication.receives);
  EXPECT_THAT(what_if(Knob::kReceives, good(kSmallScenario), 16).obstacle,
              HasSubstr("for each slot"));
}

TEST(WhatIf, UplinksFollowOversubscription) {
  const std::vector<std::string> leaves{"cluster.network.topology.kind=leaf_spine",
                                        "cluster.network.topology.switch_ports=24"};
  std::vector<std::string> narrow = leaves;
  narrow.emplace_back("cluster.network.oversubscription=4");
  EXPECT_EQ(turned(Knob::kMoreUplinks, narrow).after.cluster.network.oversubscription, 1);
  EXPECT_EQ(turned(Knob::kMoreUplinks, leaves).after.cluster.network.oversubscription, 0.5);
}

TEST(WhatIf, LeavesOutTheWayThroughTheHost) {
  EXPECT_EQ(turned(Knob::kGpuDirect, {"communication.gpudirect=off"}).after.communication.gpudirect,
            GpuDirect::kOn);
  const std::string settings = "cluster.node.pcie_settings.";
  EXPECT_FALSE(turned(Knob::kAcs, {settings + "acs=true"}).after.cluster.node.pcie_settings.acs);
  EXPECT_FALSE(
      turned(Knob::kIommu, {settings + "iommu=true"}).after.cluster.node.pcie_settings.iommu);
  EXPECT_TRUE(turned(Knob::kRelaxedOrdering, {settings + "relaxed_ordering=false"})
                  .after.cluster.node.pcie_settings.relaxed_ordering);
  const Node node = turned(Knob::kHostMemoryRate).after.cluster.node;
  EXPECT_EQ(node.host_memory_bandwidth, 500_GBps);
  EXPECT_EQ(turned(Knob::kCopySetup).after.cluster.node.gpu.copy_setup, 3_us);
}

TEST(WhatIf, ChangesHowThreadsWork) {
  const std::vector<std::string> each{"communication.registration=per_transfer"};
  EXPECT_EQ(turned(Knob::kRegisterOnce, each).after.communication.registering, Registering::kOnce);
  EXPECT_EQ(turned(Knob::kPageSize, each).after.communication.registration.page, 2_MiB);
  EXPECT_FALSE(
      turned(Knob::kPolling, {"communication.completion=interrupt"}).after.communication.sleeps);
  EXPECT_EQ(turned(Knob::kThreadStep, {"communication.thread_step=600ns"})
                .after.communication.thread_step,
            300_ns);
  EXPECT_GT(turned(Knob::kBlueFlame).after.communication.blue_flame.count, 1 << 30);
}

TEST(WhatIf, RelievesNics) {
  EXPECT_EQ(turned(Knob::kNoFlush, {"communication.flush=on"}).after.communication.flush,
            Flush::kOff);
  const std::string model = "cluster.node.nics.model.";
  const NicModel holds = turned(Knob::kContextCache, {model + "qp_cache=64", model + "mr_cache=8"})
                             .after.cluster.node.nic;
  EXPECT_EQ(holds.queue_pair_cache + holds.memory_region_cache, 0);
  EXPECT_EQ(turned(Knob::kQueuePairRate, {model + "qp_message_rate=2.64e6"})
                .after.cluster.node.nic.queue_pair_rate,
            5'280'000);
  EXPECT_NE(what_if(Knob::kContextCache, good(kSmallScenario), 16).obstacle, "");
}

TEST(WhatIf, HalvesAndDoubles) {
  const Cluster posting = turned(Knob::kPosting).after.cluster;
  EXPECT_EQ(posting.node.nic.post, 37'500_ps);
  EXPECT_EQ(posting.node.nic.doorbell, 100_ns);
  EXPECT_EQ(posting.node.nic.wqe_fetch, 175_ns);
  EXPECT_EQ(turned(Knob::kLaunch).after.cluster.node.gpu.kernel_launch, 2_us);
  EXPECT_EQ(turned(Knob::kFlags).after.cluster.node.gpu.flag_latency, 250_ns);
  EXPECT_EQ(turned(Knob::kCables).after.cluster.network.node_cable_metres, 1.5);
  EXPECT_EQ(turned(Knob::kSwitchLatency).after.cluster.network.switch_latency, 100_ns);
  EXPECT_EQ(turned(Knob::kNetworkBuffer).after.cluster.network.vl_buffer, 128_KiB);
  EXPECT_EQ(turned(Knob::kNvlinkRate).after.cluster.node.nvlink->bandwidth, 900_GBps);
  EXPECT_EQ(turned(Knob::kGpuMemoryRate).after.cluster.node.gpu.memory_bandwidth, 6700_GBps);
  const Cluster reads = turned(Knob::kReadRoom).after.cluster;
  EXPECT_EQ(reads.node.pcie_settings.tags, 512);
  EXPECT_EQ(reads.node.nic.transmit_buffer, 512_KiB);
  EXPECT_EQ(turned(Knob::kSlots).after.communication.slots, 16);
  // NCCL's chunk of Simple is four slots of 1 MiB; where it chooses the protocol, it has its own.
  std::vector<std::string> nccl{"communication.profile=nccl-2.22", "communication.algorithm=ring",
                                "communication.protocol=simple"};
  EXPECT_THAT(what_if(Knob::kLargerSlots, good(kSmallScenario, nccl), 16).settings,
              testing::Contains("communication.slot_size=2MiB"));
  nccl.pop_back();
  EXPECT_THAT(what_if(Knob::kLargerSlots, good(kSmallScenario, nccl), 16).obstacle,
              HasSubstr("slots of their own"));
  EXPECT_EQ(turned(Knob::kLargerSlots).after.communication.slot_size, 1_MiB);
  EXPECT_EQ(turned(Knob::kSmallerSlots).after.communication.slot_size, 256_KiB);
}

TEST(WhatIf, SaysWhyNot) {
  const Scenario most = good(kSmallScenario, {"cluster.network.switch.vl_buffer=131072B"});
  EXPECT_THAT(what_if(Knob::kNetworkBuffer, most, 16).obstacle, HasSubstr("no more than 128KiB"));
  const Scenario scenario = good(kSmallScenario);
  EXPECT_THAT(what_if(Knob::kPcieHopLatency, scenario, 16).obstacle, HasSubstr("105ns"));
  const Scenario ideal = good(kSmallScenario, {"cluster.node=ideal", "cluster.network=ideal"});
  EXPECT_THAT(what_if(Knob::kGpuMemoryRate, ideal, 1).obstacle, HasSubstr("has no limit"));
}

}  // namespace
}  // namespace gradhaul
