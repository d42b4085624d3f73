#include "scenarios/topology_drawing.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "scenarios/topology_summary.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(TopologyDrawing, ShowsDevicesSwitchesAndCables) {
  const std::string dot = topology_dot(read_file_with("link-test").scenario.cluster);
  EXPECT_THAT(dot, HasSubstr("\"node0.gpu0\" -- \"node0.sw0\""));
  EXPECT_THAT(dot, HasSubstr("\"node1.sw0\" -- \"node1.socket0\" [label=\"gen5x16\"]"));
  EXPECT_THAT(dot, HasSubstr("\"node0.nic0\" -- \"node1.nic0\" [label=\"400Gb/s\"]"));
  EXPECT_THAT(dot, Not(HasSubstr("leaf")));
}

TEST(TopologyDrawing, DrawsOneOfManyNodesWhole) {
  const Scenario scenario = good(kSmallScenario, {"cluster.nodes=16", "cluster.network=ndr-rails"});
  const std::string dot = topology_dot(scenario.cluster);
  EXPECT_THAT(dot, HasSubstr("\"node0.nvswitch\""));
  EXPECT_THAT(dot, HasSubstr("node15 [label=\"node15\\nhgx-h100\"]"));
  EXPECT_THAT(dot, Not(HasSubstr("node15.gpu0")));
  EXPECT_THAT(dot, HasSubstr("\"node0.nic7\" -- leaf7"));
  EXPECT_THAT(dot, HasSubstr("leaf7 -- spine0"));
}

TEST(TopologyDrawing, IsBalancedForEveryShippedScenario) {
  for (const char* name : {"7b-32gpu", "7b-32gpu-flat", "7b-32gpu-one-nic-per-node", "ideal-ring",
                           "link-test", "quick"}) {
    const std::string dot = topology_dot(read_file_with(name).scenario.cluster);
    EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
    EXPECT_EQ(std::count(dot.begin(), dot.end(), '"') % 2, 0);
  }
}

TEST(TopologySummary, SaysRanksNetworkAndRings) {
  const auto lines = topology_summary(
      good("workload: {size: 10B}\ncluster: {nodes: 4, node: ideal, network: ideal}\n"
           "communication: {ring_order: [0, 2, 1, 3], channels: 1}\n"));
  EXPECT_THAT(lines, ElementsAre("4 ranks on 4 nodes of ideal, 1 a node; 1 GPU and 1 NIC a node",
                                 "8B a rank", "network: ideal, one switch, 4 ports of 400Gb/s",
                                 "1 channel", "ring of channel 0: 0 2 1 3",
                                 "note: size 10B is rounded down to 8 bytes, 2 whole elements of "
                                 "fp32"));
}

}  // namespace
}  // namespace gradhaul
