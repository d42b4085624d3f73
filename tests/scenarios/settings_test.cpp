#include "scenarios/settings.h"

#include <gmock/gmock.h>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;
using testing::ElementsAre;

TEST(Setting, ReachesKeysInsideOfWhatWasGivenByName) {
  const Scenario scenario = good(
      kSmallScenario,
      {"cluster.node.pcie_settings.tags=32", "cluster.network.mtu=1024B",
       "cluster.node.gpus.model.reduce_bandwidth=20GB/s", "cluster.node.nics.model.rate=800Gb/s",
       "cluster.node.pcie.3.link=gen4x8", "communication.slots=2", "simulation.seed=9"});
  EXPECT_EQ(scenario.cluster.node.pcie_settings.tags, 32);
  EXPECT_EQ(scenario.cluster.network.mtu, 1024_B);
  EXPECT_EQ(scenario.cluster.node.gpu.reduce_bandwidth, 20_GBps);
  EXPECT_EQ(scenario.cluster.node.nic.rate, 800_Gbps);
  EXPECT_EQ(scenario.cluster.node.pcie[3].link, (PcieLink{4, 8}));
  EXPECT_EQ(scenario.communication.slots, 2);
  EXPECT_EQ(scenario.seed, 9U);
}

TEST(Setting, MayExchangeTheNodeAndItsKeysInAnyOrder) {
  const std::vector<std::string> settings{"cluster.node.pcie_settings.tags=64",
                                          "cluster.node=dgx-a100", "cluster.network=hdr"};
  const Scenario scenario = good(kSmallScenario, settings);
  EXPECT_EQ(scenario.cluster.node.name, "dgx-a100");
  EXPECT_EQ(scenario.cluster.node.pcie_settings.tags, 64);
}

TEST(Setting, OfTheSamePathTheLastHolds) {
  const Scenario scenario =
      good(kSmallScenario, {"communication.slots=2", "communication.slots=4"});
  EXPECT_EQ(scenario.communication.slots, 4);
}

TEST(Setting, OfASizeReplacesTheModel) {
  const std::string text =
      "workload: {model: {parameters: 7e9, gradient_datatype: fp16}}\n"
      "cluster: {nodes: 4, node: hgx-h100, network: ndr}\n";
  const Scenario scenario = good(text, {"workload.size=[1MiB, 2MiB]"});
  EXPECT_THAT(scenario.workload.sizes, ElementsAre(1_MiB, 2_MiB));
  // The datatype stays what it was.
  EXPECT_EQ(scenario.workload.datatype, DataType::kFp16);
  const Scenario other =
      good(text, {"workload.size={from: 1KiB, to: 4KiB}", "workload.datatype=fp32"});
  EXPECT_THAT(other.workload.sizes, ElementsAre(1_KiB, 2_KiB, 4_KiB));
  EXPECT_EQ(other.workload.datatype, DataType::kFp32);
}

TEST(Setting, OfAModelReplacesTheSize) {
  const Scenario scenario = good(kSmallScenario, {"workload.model.parameters=1e6"});
  EXPECT_THAT(scenario.workload.sizes, ElementsAre(Bytes{2'000'000}));
}

TEST(Setting, AddsWhatWasLeftOut) {
  const Scenario scenario =
      good(kSmallScenario, {"expect.busbw=>=1GB/s", "communication.ring_order=nccl"});
  ASSERT_EQ(scenario.expectations.size(), 1U);
  EXPECT_EQ(scenario.expectations[0].sign, ">=");
  EXPECT_EQ(scenario.communication.ring_order, RingOrder::kNccl);
}

TEST(Setting, TakesNvlinkAway) {
  EXPECT_FALSE(good(kSmallScenario, {"cluster.node.nvlink=none"}).cluster.node.nvlink);
}

TEST(Setting, OfWholeMappings) {
  const Scenario scenario = good(
      kSmallScenario, {"cluster.network={kind: infiniband, link: 200Gb/s, cables: {node: 1.5m}}"});
  EXPECT_EQ(scenario.cluster.network.link, 200_Gbps);
  EXPECT_EQ(scenario.cluster.network.node_cable_metres, 1.5);
}

TEST(Setting, IsNoLongerAnEstimate) {
  const Scenario scenario = good(kSmallScenario, {"cluster.node.gpus.model.read_latency=650ns"});
  const FilledValue* gpu = scenario.filled.find("cluster");
  for (const char* key : {"node", "gpus", "model", "read_latency"}) gpu = gpu->find(key);
  EXPECT_FALSE(gpu->origin.estimate);
  EXPECT_EQ(gpu->origin.source, "");
  EXPECT_EQ(gpu->origin.location.text(), "--set cluster.node.gpus.model.read_latency=650ns");
}

}  // namespace
}  // namespace gradhaul
