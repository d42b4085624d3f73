// Every file that is shipped is registered here, reads without a complaint, and says where its
// numbers come from.

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/placement.h"
#include "core/topology_size.h"
#include "scenarios/references.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;

TEST(ShippedFiles, AreAllRegistered) {
  const Library library(GRADHAUL_SCENARIOS);
  EXPECT_THAT(
      library.names(""),
      ElementsAre("70b-step", "7b-32gpu", "7b-32gpu-flat", "7b-32gpu-one-nic-per-node", "7b-step",
                  "acs-on", "bonded-port", "channels-and-cores", "decaying-optics", "dlrm-step",
                  "gpudirect-off", "ideal-ring", "late-receives", "link-test",
                  "many-small-gradients", "parameter-server", "pfc-misconfigured", "quick",
                  "registration-per-transfer", "ring-of-switches", "roce-mtu-1024", "sixty-percent",
                  "static-collision", "tcp-baseline", "traffic-class-0", "two-jobs-packed",
                  "two-jobs-scattered", "wan-ring", "whole-chunks"));
  EXPECT_THAT(
      library.names("nodes"),
      ElementsAre("bad-cross-socket", "bad-uplink-gen3", "bad-uplink-gen4", "dgx-a100", "flat-h100",
                  "hgx-h100", "hgx-h100-one-nic", "hgx-h200", "ideal", "two-gpu-switch"));
  EXPECT_THAT(library.names("networks"), ElementsAre("edr", "ethernet", "hdr", "ideal", "ndr",
                                                     "ndr-rails", "roce", "roce-rails"));
  EXPECT_THAT(library.names("devices"),
              ElementsAre("a100-sxm", "b200-sxm", "connectx-5", "connectx-6", "connectx-6-dx",
                          "connectx-7", "h100-sxm", "h200-sxm", "ideal-gpu", "ideal-nic"));
  EXPECT_THAT(library.names("models"),
              ElementsAre("dlrm", "llama-2-13b", "llama-2-70b", "llama-2-7b"));
  // And none lies anywhere else.
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(GRADHAUL_SCENARIOS)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".yaml" || extension == ".yml") ++files;
  }
  std::size_t listed = 0;
  for (const char* kind : {"", "nodes", "networks", "devices", "models"}) {
    listed += library.names(kind).size();
  }
  EXPECT_EQ(files, listed);
}

TEST(ShippedScenarios, ReadAndBearTheirNames) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("")) {
    SCOPED_TRACE(name);
    const Reading reading = read_file_with(name);
    EXPECT_THAT(reading.problems, testing::IsEmpty());
    EXPECT_EQ(reading.scenario.name, name);
    EXPECT_FALSE(reading.scenario.question.empty());
  }
}

TEST(ShippedNodes, ReadAndBearTheirNames) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("nodes")) {
    SCOPED_TRACE(name);
    const Scenario scenario = good(kSmallScenario, {"cluster.node=" + name, "cluster.network=edr"});
    EXPECT_EQ(scenario.cluster.node.name, name);
    const Placement placement =
        place(scenario.cluster, scenario.communication, scenario.workload.collective);
    EXPECT_GE(placement.channels, 1);
  }
}

TEST(ShippedNetworks, ReadAndBearTheirNames) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("networks")) {
    SCOPED_TRACE(name);
    const std::string transport = name == "ethernet" ? "tcp" : "rdma";
    EXPECT_EQ(
        good(kSmallScenario, {"cluster.network=" + name, "communication.transport=" + transport})
            .cluster.network.name,
        name);
  }
}

TEST(ShippedDevices, ReadAndBearTheirNames) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("devices")) {
    SCOPED_TRACE(name);
    const std::string text = text_of(GRADHAUL_SCENARIOS "/devices/" + name + ".yaml");
    const bool gpu = text.find("kind: gpu") != std::string::npos;
    const std::string gpus = gpu ? name : name.starts_with("ideal") ? "ideal-gpu" : "h100-sxm";
    const std::string nics = !gpu ? name : name.starts_with("ideal") ? "ideal-nic" : "connectx-7";
    const std::string tree =
        name.starts_with("ideal") ? "[]" : "[{parent: socket0, devices: [gpu0, nic0]}]";
    const Scenario scenario = good(
        "workload: {size: 1MiB}\ncluster: {nodes: 2, network: {link: 100Gb/s}, node: {gpus: "
        "{count: 1, model: " +
        gpus + "}, nics: {count: 1, model: " + nics + "}, pcie: " + tree + "}}\n");
    EXPECT_EQ(gpu ? scenario.cluster.node.gpu.name : scenario.cluster.node.nic.name, name);
  }
}

// The parameters that are published: model cards of meta-llama/Llama-2-*, and of MLPerf's DLRM
// 187.8 million rows of 128 (mlcommons/inference, recommendation/dlrm) beside its MLPs.
TEST(ShippedModels, HaveThePublishedParameters) {
  const std::vector<std::pair<std::string, std::int64_t>> models{
      {"llama-2-7b", 6'738'415'616},
      {"llama-2-13b", 13'015'864'320},
      {"llama-2-70b", 68'976'648'192},
      {"dlrm", 187'767'399LL * 128 + 2'368'897}};
  for (const auto& [name, parameters] : models) {
    SCOPED_TRACE(name);
    const std::optional<TrainingStep> step =
        good(kSmallScenario, {"workload.training_step.model=" + name}).training_step;
    ASSERT_TRUE(step);
    EXPECT_EQ(step->model.name, name);
    EXPECT_EQ(parameter_count(step->model), parameters);
  }
}

// Every number of a device, node, network or model has a source; those of the ideal ones come from
// nobody.
void expect_sources(const FilledValue& value, const std::string& path, const std::string& folder) {
  const bool mapping = value.kind == FilledValue::Kind::kMapping;
  const std::set<std::string> definitions{
      "name",     "kind",   "sockets",          "count",
      "topology", "cables", "oversubscription", "read_completion"};
  if (definitions.count(value.key) > 0) return;
  for (const FilledValue& child : value.children) {
    if (mapping) expect_sources(child, path + "." + child.key, folder);
  }
  const bool from_folder =
      !value.origin.from_default && value.origin.location.source.find(folder) != std::string::npos;
  if (mapping || !from_folder) return;
  EXPECT_NE(value.origin.source, "") << path;
}

TEST(ShippedNumbers, HaveSources) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("nodes")) {
    if (name == "ideal") continue;
    SCOPED_TRACE(name);
    const Scenario scenario = good(kSmallScenario, {"cluster.node=" + name, "cluster.network=edr"});
    for (const char* folder : {"/nodes/", "/devices/", "/networks/"}) {
      expect_sources(scenario.filled, "", folder);
    }
  }
}

TEST(ShippedNumbers, OfModelsHaveSources) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("models")) {
    SCOPED_TRACE(name);
    expect_sources(good(kSmallScenario, {"workload.training_step.model=" + name}).filled, "",
                   "/models/");
  }
}

TEST(ShippedIdeal, CostsNothingButItsLink) {
  const Cluster cluster = read_file_with("ideal-ring").scenario.cluster;
  EXPECT_EQ(cluster.network.kind, NetworkKind::kIdeal);
  EXPECT_EQ(cluster.network.link.gigabytes_per_second(), 50);
  EXPECT_EQ(cluster.network.switch_latency.ps, 1'000'000);
  EXPECT_EQ(cluster.network.node_cable_metres, 0);
  EXPECT_EQ(cluster.network.vl_buffer.count, 0);
  EXPECT_EQ(cluster.network.credit_return.ps, 0);
  EXPECT_TRUE(cluster.node.pcie.empty());
  const GpuModel& gpu = cluster.node.gpu;
  EXPECT_FALSE(gpu.pcie);
  EXPECT_TRUE(gpu.reduce_bandwidth.unlimited() && gpu.memory_bandwidth.unlimited());
  EXPECT_EQ(gpu.read_latency.ps + gpu.write_latency.ps + gpu.kernel_launch.ps + gpu.flag_latency.ps,
            0);
  const NicModel& nic = cluster.node.nic;
  EXPECT_FALSE(nic.pcie);
  EXPECT_EQ(nic.post.ps + nic.doorbell.ps + nic.wqe_fetch.ps + nic.transmit_latency.ps +
                nic.receive_latency.ps + nic.completion.ps,
            0);
  EXPECT_EQ(nic.transmit_buffer.count + nic.receive_buffer.count + nic.message_rate, 0);
}

}  // namespace
}  // namespace gradhaul
