// Faults that a scenario lists, as the structs of core have them, and as `show` repeats them.

#include <gmock/gmock.h>

#include <set>

#include "core/cluster_parts.h"
#include "scenarios/fault_reader.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;

constexpr const char* kFaulty = R"(
workload: {size: 1MiB}
cluster:
  nodes: 2
  node: hgx-h100
  network: ndr-rails
  faults:
    - {link: node0.nic3, speed: 100Gb/s}
    - {link: node1.sw0, width: x8}
    - {link: node1.gpu2.pcie, generation: 3, width: x4}
    - {gpu: node0.gpu3, slowdown: 1.5}
    - {node: node1, communication_thread: other_socket}
)";

TEST(FaultReading, FillsTheStructs) {
  const Faults faults = good(kFaulty).cluster.faults;
  EXPECT_THAT(faults.links, ElementsAre(TrainedDown{"node0.nic3", 100_Gbps, {}, {}},
                                        TrainedDown{"node1.sw0", {}, 8, {}},
                                        TrainedDown{"node1.gpu2.pcie", {}, 4, 3}));
  EXPECT_THAT(faults.gpus, ElementsAre(Straggler{0, 3, 1.5}));
  EXPECT_THAT(faults.far_threads, ElementsAre(1));
}

TEST(FaultReading, IsSaidInNotes) {
  EXPECT_THAT(good(kFaulty).notes,
              ElementsAre("fault: node0.nic3 runs at 100Gb/s of 400Gb/s",
                          "fault: node1.sw0 runs as gen5x8 instead of gen5x16",
                          "fault: node1.gpu2.pcie runs as gen3x4 instead of gen5x16",
                          "fault: kernels of node0.gpu3 take 1.5 times as long",
                          "fault: communication threads of node1 run at another socket than the "
                          "GPUs they serve"));
}

TEST(FaultReading, KnowsWhatNicsDoWithPauses) {
  const Scenario scenario =
      good(kFaulty, {"cluster.network=roce-rails",
                     "cluster.faults=[{nic: node1.nic2, pause_storm: {at: 1ms, for: 5ms}}, "
                     "{nic: node0.nic7, pfc: off}]"});
  EXPECT_THAT(scenario.cluster.faults.storms,
              ElementsAre(PauseStorm{"node1.nic2", 1000_us, 5000_us}));
  EXPECT_THAT(scenario.cluster.faults.pfc_off, ElementsAre(PfcOff{"node0.nic7"}));
  EXPECT_THAT(scenario.notes,
              ElementsAre("fault: node0.nic7 has PFC off: it heeds no pause and sends none",
                          "fault: node1.nic2 pauses its switch from 1ms on, for 5ms"));
}

// Priority 3 is lossless; eight DSCP make a priority, and DSCP * 4 is the traffic class.
TEST(TrafficClass, ChoosesThePriority) {
  const auto drops = [](const char* traffic_class) {
    return good(kFaulty, {"cluster.faults=[]", "cluster.network=roce-rails",
                          std::string("communication.traffic_class=") + traffic_class})
        .cluster.network.drops();
  };
  EXPECT_FALSE(drops("auto"));
  EXPECT_TRUE(drops("0"));
  EXPECT_TRUE(drops("95"));
  EXPECT_FALSE(drops("96"));
  EXPECT_FALSE(drops("106"));
  EXPECT_FALSE(drops("127"));
  EXPECT_TRUE(drops("128"));
}

TEST(CongestionControl, IsOfPacketsAndOtherwiseNoted) {
  const auto notes = [](const char* control, const char* fidelity) {
    return good(kFaulty, {"cluster.faults=[]", "cluster.network=roce-rails",
                          std::string("cluster.network.congestion_control=") + control,
                          std::string("simulation.fidelity=") + fidelity})
        .model_notes;
  };
  const auto told = testing::Contains(testing::HasSubstr("dcqcn is taken to share"));
  EXPECT_THAT(notes("dcqcn", "flow"), told);
  EXPECT_THAT(notes("dcqcn", "analytic"), told);
  EXPECT_THAT(notes("dcqcn", "packet"), testing::Not(told));
  EXPECT_THAT(notes("none", "flow"), testing::Not(told));
}

// 400 ns in the switch at 50 GB/s and one frame of 4096 + 102 bytes, RETH and immediate data
// among them.
TEST(PauseMarks, ThatPauseWithoutNeedAreNotedWhereNothingIsPaused) {
  const auto notes = [](const std::string& marks, const char* fidelity) {
    return good(kFaulty, {"cluster.faults=[]", "cluster.network=roce-rails",
                          "cluster.network.flow_control={kind: pfc" + marks + "}",
                          std::string("simulation.fidelity=") + fidelity})
        .model_notes;
  };
  const auto told = testing::Contains(testing::HasSubstr("nothing else holds up"));
  const std::string low = ", xoff: 9kB, xon: 4kB";
  EXPECT_THAT(notes(low, "flow"), told);
  EXPECT_THAT(notes(low, "analytic"), told);
  EXPECT_THAT(notes(low, "packet"), testing::Not(told));
  EXPECT_THAT(notes("", "flow"), testing::Not(told));
  EXPECT_THAT(notes("", "analytic"), testing::Not(told));
  EXPECT_THAT(notes(", alpha: 0.125", "flow"), testing::Not(told));
  EXPECT_THAT(notes(low, "flow"),
              testing::Contains(testing::AllOf(testing::HasSubstr("above 9000B"),
                                               testing::HasSubstr("less than 24198B"))));
  EXPECT_THAT(notes(", xoff: 24198B, xon: 24kB", "flow"), told) << "runs dry";
  EXPECT_THAT(notes(", xoff: 24197B, xon: 24197B", "flow"), told);
  EXPECT_THAT(notes(", alpha: 0.00001", "flow"), told) << "ports that share settle lower";
}

// Defaults are those of mlxconfig's dumps: no clamping, at most half at once, no first rate.
TEST(CongestionControl, HasTheParametersOfMlxconfig) {
  const auto control = [](const std::string& keys) {
    return good(kFaulty, {"cluster.faults=[]", "cluster.network=roce-rails",
                          "cluster.network.congestion_control={kind: dcqcn" + keys + "}"})
        .cluster.network.congestion;
  };
  const CongestionControl usual = control("");
  EXPECT_FALSE(usual.clamp_target);
  EXPECT_EQ(usual.min_decrease_factor, 0.5);
  EXPECT_EQ(usual.first_cnp_rate, BitRate{});
  const CongestionControl told =
      control(", clamp_target: true, min_decrease_factor: 0.8, first_cnp_rate: 100Gb/s");
  EXPECT_TRUE(told.clamp_target);
  EXPECT_EQ(told.min_decrease_factor, 0.8);
  EXPECT_EQ(told.first_cnp_rate, 100_Gbps);
}

TEST(FaultReading, KnowsWhatLosesPackets) {
  const Scenario scenario =
      good(kFaulty, {"cluster.faults=[{link: node0.nic3, speed: 100Gb/s, bit_error_rate: 1e-12, "
                     "down: {at: 5ms, for: 20ms}}, {link: node1.nic0, down: {}}, "
                     "{link: node1.nic1, pre_fec_bit_error_rate: 1e-3}]",
                     "communication.timeout=14", "communication.retry=3"});
  const Faults& faults = scenario.cluster.faults;
  EXPECT_THAT(faults.links, ElementsAre(TrainedDown{"node0.nic3", 100_Gbps, {}, {}}));
  ASSERT_EQ(faults.errors.size(), 2U);
  EXPECT_EQ(faults.errors[0], (BitErrors{"node0.nic3", 1e-12, 0}));
  EXPECT_EQ(faults.errors[1].pre_fec, 1e-3);
  EXPECT_GT(faults.errors[1].rate, 0);
  EXPECT_THAT(faults.down, ElementsAre(LinkDown{"node0.nic3", 5000_us, 20000_us},
                                       LinkDown{"node1.nic0", {}, {}}));
  EXPECT_EQ(scenario.communication.timeout, 14);
  EXPECT_EQ(scenario.communication.retry, 3);
  EXPECT_THAT(scenario.notes, testing::Contains("fault: node0.nic3 is down from 5ms on, for 20ms"));
}

// Of the standard's residual errors all links have their share; who has a rate of its own keeps it.
TEST(FaultReading, KnowsErrorsOfAllLinks) {
  const Scenario scenario =
      good(kFaulty, {"cluster.faults=[{link: all, bit_error_rate: 1e-13}, {link: node1.nic1, "
                     "bit_error_rate: 1e-9}, {link: node0.nic3, speed: 100Gb/s}]"});
  const Cluster& cluster = scenario.cluster;
  std::set<std::string> links;
  for (const BitErrors& errors : cluster.faults.errors) {
    EXPECT_TRUE(links.insert(errors.link).second) << errors.link;
    EXPECT_TRUE(find_part(cluster, errors.link)) << errors.link;
    EXPECT_EQ(errors.rate, errors.link == "node1.nic1" ? 1e-9 : 1e-13);
  }
  const auto nics = static_cast<std::size_t>(cluster.nodes * cluster.node.nic_count);
  const Topology& topology = cluster.network.topology;
  EXPECT_EQ(links.size(), nics + static_cast<std::size_t>(topology.leaves * topology.spines));
  EXPECT_THAT(scenario.notes, testing::Contains(testing::AllOf(
                                  testing::HasSubstr("more links of the network have a bit error"),
                                  testing::HasSubstr(std::to_string(links.size() - 2)))));
  EXPECT_THAT(scenario.notes, testing::Contains("fault: node1.nic1 has a bit error rate of 1e-09"));
}

TEST(FaultReading, KnowsReceivesThatAreLate) {
  const Scenario scenario =
      good(kFaulty,
           {"cluster.faults=[{node: node1, receives_late: 200us}, {node: node0, "
            "communication_thread: other_socket, receives_late: 1ms}]",
            "communication.receives=4", "communication.rnr_timer=14", "communication.rnr_retry=3"});
  const Faults& faults = scenario.cluster.faults;
  EXPECT_THAT(faults.late_receives, ElementsAre(LateReceives{1, 200_us}, LateReceives{0, 1000_us}));
  EXPECT_THAT(faults.far_threads, ElementsAre(0));
  EXPECT_EQ(lateness_of_receives(faults, 1), 200_us);
  EXPECT_EQ(lateness_of_receives(faults, 2), Duration{});
  EXPECT_THAT(scenario.notes,
              testing::Contains("fault: communication threads of node1 post each receive again "
                                "200us after its completion"));
  EXPECT_EQ(scenario.communication.receives, 4);
  EXPECT_EQ(scenario.communication.rnr_timer, 14);
  EXPECT_EQ(scenario.communication.rnr_retry, 3);
}

TEST(FaultReading, ASwitchIsAllItsLinks) {
  const auto down = [](const char* fault) {
    std::vector<std::string> links;
    const Scenario scenario =
        good(kFaulty, {fault,
                       "cluster.network.topology={kind: leaf_spine, leaves: 2, spines: 4, "
                       "uplinks: 8}"});
    for (const LinkDown& each : scenario.cluster.faults.down) links.push_back(each.link);
    return links;
  };
  EXPECT_THAT(down("cluster.faults=[{spine: spine1, down: {at: 1ms}}]"),
              ElementsAre("leaf0-spine1", "leaf1-spine1"));
  // Eight NICs of one node, and its uplinks.
  EXPECT_EQ(down("cluster.faults=[{leaf: leaf0, down: {at: 1ms}}]").size(), 8U + 4U);
}

TEST(FaultReading, IsShownAsItWasWritten) {
  const auto effective = good(kFaulty).effective();
  const auto& faults = effective["cluster"]["faults"];
  ASSERT_EQ(faults.size(), 5U);
  EXPECT_EQ(faults[1].dump(), R"({"link":"node1.sw0","width":"x8"})");
  // And reads back as the same.
  EXPECT_EQ(good(commented_yaml(good(kFaulty).filled)).cluster.faults,
            good(kFaulty).cluster.faults);
}

TEST(FaultReading, NoneIsNone) {
  EXPECT_TRUE(good(kFaulty, {"cluster.faults=[]"}).cluster.faults.empty());
  EXPECT_TRUE(good(kFaulty, {"cluster.faults={}"}).cluster.faults.empty());
}

}  // namespace
}  // namespace gradhaul
