#include "scenarios/scenario.h"

#include <gmock/gmock.h>

#include <cmath>

#include "scenarios/references.h"
#include "scenarios/sha256.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string with_workload(const std::string& workload) {
  return "workload: " + workload + "\ncluster: {nodes: 4, node: hgx-h100, network: ndr}\n";
}

std::vector<Bytes> sizes_of(const std::string& workload) {
  return good(with_workload(workload)).workload.sizes;
}

TEST(Scenario, SaysWhoItIs) {
  const Scenario scenario = good(kSmallScenario);
  EXPECT_EQ(scenario.name, "small");
  EXPECT_EQ(scenario.file, temporary_file("scenario.yaml"));
  EXPECT_EQ(scenario.sha256, sha256(kSmallScenario));
  EXPECT_EQ(scenario.fidelity, Fidelity::kPacket);
  EXPECT_EQ(scenario.seed, 1U);
}

// What is left out has the defaults that the structs of core have.
TEST(Scenario, DefaultsAreThoseOfTheStructs) {
  const Scenario scenario = good(
      "workload: {size: 1MiB}\n"
      "cluster: {nodes: 2, node: {gpus: {count: 2, model: {}}, nics: {count: 1, model: {}}},\n"
      "          network: {link: 400Gb/s}}\n");
  const Communication communication;
  EXPECT_EQ(scenario.communication.profile, communication.profile);
  EXPECT_EQ(scenario.communication.algorithm, communication.algorithm);
  EXPECT_EQ(scenario.communication.channels, communication.channels);
  EXPECT_EQ(scenario.communication.slots, communication.slots);
  EXPECT_EQ(scenario.communication.slot_size, communication.slot_size);
  EXPECT_EQ(scenario.communication.queue_pairs, communication.queue_pairs);
  EXPECT_EQ(scenario.communication.ring_order, communication.ring_order);
  EXPECT_EQ(scenario.workload.datatype, Workload{}.datatype);
  EXPECT_EQ(scenario.workload.reduction, Workload{}.reduction);
  EXPECT_EQ(scenario.cluster.ranks_per_node, 2);
}

TEST(Scenario, DefaultsOfNodesAreThoseOfTheStructs) {
  const Scenario scenario = good(
      "workload: {size: 1MiB}\n"
      "cluster: {nodes: 2, node: {gpus: {count: 2, model: {}}, nics: {count: 1, model: {}}},\n"
      "          network: {link: 400Gb/s}}\n");
  const Node& node = scenario.cluster.node;
  const Node plain;
  EXPECT_EQ(node.sockets, plain.sockets);
  EXPECT_EQ(node.socket_link.bandwidth, plain.socket_link.bandwidth);
  EXPECT_EQ(node.socket_link.latency, plain.socket_link.latency);
  EXPECT_EQ(node.root_complex.peer_to_peer_read, plain.root_complex.peer_to_peer_read);
  EXPECT_EQ(node.root_complex.peer_to_peer_across_sockets,
            plain.root_complex.peer_to_peer_across_sockets);
  EXPECT_EQ(node.root_complex.latency, plain.root_complex.latency);
  EXPECT_EQ(node.root_complex.read_completion, plain.root_complex.read_completion);
  EXPECT_EQ(node.root_complex.tlp_split, plain.root_complex.tlp_split);
  EXPECT_EQ(node.host_memory_bandwidth, plain.host_memory_bandwidth);
  EXPECT_EQ(node.gpu.pcie, plain.gpu.pcie);
  EXPECT_EQ(node.gpu.reduce_bandwidth, plain.gpu.reduce_bandwidth);
  EXPECT_EQ(node.gpu.read_latency, plain.gpu.read_latency);
  EXPECT_EQ(node.nic.rate, plain.nic.rate);
  EXPECT_EQ(node.nic.transmit_buffer, plain.nic.transmit_buffer);
  EXPECT_EQ(node.nic.message_rate, plain.nic.message_rate);
  EXPECT_EQ(node.nic.queue_pair_rate, plain.nic.queue_pair_rate);
  EXPECT_EQ(node.nic.queue_pair_cache, plain.nic.queue_pair_cache);
  EXPECT_EQ(node.nic.memory_region_cache, plain.nic.memory_region_cache);
  EXPECT_EQ(node.bonded_nics, plain.bonded_nics);
  EXPECT_FALSE(node.nvlink);
  EXPECT_EQ(node.pcie_settings.max_payload, plain.pcie_settings.max_payload);
  EXPECT_EQ(node.pcie_settings.max_read_request, plain.pcie_settings.max_read_request);
  EXPECT_EQ(node.pcie_settings.tags, plain.pcie_settings.tags);
  EXPECT_EQ(node.pcie_settings.posted_header_credits, plain.pcie_settings.posted_header_credits);
  EXPECT_EQ(node.pcie_settings.posted_data_credits, plain.pcie_settings.posted_data_credits);
  EXPECT_EQ(node.pcie_settings.credit_loop, plain.pcie_settings.credit_loop);
  EXPECT_EQ(node.pcie_settings.dllp_overhead, plain.pcie_settings.dllp_overhead);
}

TEST(Scenario, DefaultsOfNetworksAreThoseOfTheStructs) {
  const Scenario scenario = good(
      "workload: {size: 1MiB}\n"
      "cluster: {nodes: 2, node: hgx-h100, network: {link: 400Gb/s}}\n");
  const Network& network = scenario.cluster.network;
  const Network plain;
  EXPECT_EQ(network.kind, plain.kind);
  EXPECT_EQ(network.mtu, plain.mtu);
  EXPECT_EQ(network.node_cable_metres, plain.node_cable_metres);
  EXPECT_EQ(network.spine_cable_metres, plain.spine_cable_metres);
  EXPECT_EQ(network.topology.kind, plain.topology.kind);
  EXPECT_EQ(network.topology.switch_ports, plain.topology.switch_ports);
  EXPECT_EQ(network.oversubscription, plain.oversubscription);
  EXPECT_EQ(network.switch_latency, plain.switch_latency);
  EXPECT_EQ(network.vl_buffer, plain.vl_buffer);
  EXPECT_EQ(network.credit_return, plain.credit_return);
}

TEST(Scenario, ReadsRoutingAndRecovery) {
  const Scenario usual = good(kSmallScenario);
  EXPECT_EQ(usual.cluster.network.routing, Routing::kStatic);
  EXPECT_EQ(usual.cluster.node.nic.out_of_order, OutOfOrder::kPlace);
  EXPECT_EQ(usual.cluster.node.nic.retransmission, Retransmission::kGoBackN);
  const auto with = [](const std::string& setting) {
    return good(kSmallScenario, {"cluster.network=roce", setting}).cluster;
  };
  EXPECT_EQ(with("cluster.network.routing=adaptive").network.routing, Routing::kAdaptive);
  EXPECT_EQ(with("cluster.network.routing=spray").network.routing, Routing::kSpray);
  EXPECT_EQ(with("cluster.network.routing=static").network.routing, Routing::kStatic);
  EXPECT_EQ(with("cluster.node.nics.model.out_of_order=nak").node.nic.out_of_order,
            OutOfOrder::kNak);
  EXPECT_EQ(with("cluster.node.nics.model.retransmission=selective_repeat").node.nic.retransmission,
            Retransmission::kSelectiveRepeat);
}

TEST(Scenario, ReadsNodesByName) {
  const Cluster cluster = good(kSmallScenario).cluster;
  const Node& node = cluster.node;
  EXPECT_EQ(cluster.ranks(), 32);
  EXPECT_EQ(node.name, "hgx-h100");
  EXPECT_EQ(node.gpu.name, "h100-sxm");
  EXPECT_EQ(node.gpu.pcie, (PcieLink{5, 16}));
  EXPECT_EQ(node.gpu.reduce_bandwidth, 37_GBps);
  EXPECT_EQ(node.nic.rate, 400_Gbps);
  EXPECT_EQ(node.nic.message_rate, 330'000'000);
  ASSERT_EQ(node.pcie.size(), 8U);
  EXPECT_EQ(node.pcie[5].switch_name, "sw5");
  EXPECT_EQ(node.pcie[5].parent, "socket1");
  EXPECT_THAT(node.pcie[5].devices, ElementsAre("gpu5", "nic5"));
  ASSERT_TRUE(node.nvlink);
  EXPECT_EQ(node.nvlink->bandwidth, 450_GBps);
  EXPECT_EQ(node.root_complex.tlp_split, 64_B);
  EXPECT_EQ(cluster.network.link, 400_Gbps);
  EXPECT_EQ(cluster.network.topology.leaves, 1);
}

TEST(Scenario, SizesAreOneOrAListOrARange) {
  EXPECT_THAT(sizes_of("{size: 14GB}"), ElementsAre(Bytes{14'000'000'000}));
  EXPECT_THAT(sizes_of("{size: [1MiB, 1GiB]}"), ElementsAre(1_MiB, 1024_MiB));
  EXPECT_THAT(sizes_of("{size: {from: 8B, to: 64B, factor: 2}}"),
              ElementsAre(8_B, 16_B, 32_B, 64_B));
  EXPECT_THAT(sizes_of("{size: {from: 1KiB, to: 5KiB, factor: 4}}"), ElementsAre(1_KiB, 4_KiB));
  EXPECT_THAT(sizes_of("{size: {from: 1KiB, to: 1KiB}}"), ElementsAre(1_KiB));
}

TEST(Scenario, AModelIsItsGradient) {
  const Scenario scenario =
      good(with_workload("{model: {parameters: 7e9, gradient_datatype: bf16}}"));
  EXPECT_THAT(scenario.workload.sizes, ElementsAre(Bytes{14'000'000'000}));
  EXPECT_EQ(scenario.workload.datatype, DataType::kBf16);
  const Scenario wide = good(with_workload("{model: {parameters: 7e9}, datatype: fp32}"));
  EXPECT_THAT(wide.workload.sizes, ElementsAre(Bytes{28'000'000'000}));
  EXPECT_EQ(wide.workload.datatype, DataType::kFp32);
}

TEST(Scenario, RoundsSizesDownToWholeElementsWithANote) {
  const Scenario scenario = good(with_workload("{size: [11B, 12B], datatype: fp32}"));
  EXPECT_THAT(scenario.workload.sizes, ElementsAre(8_B, 12_B));
  EXPECT_THAT(scenario.notes,
              ElementsAre("size 11B is rounded down to 8 bytes, 2 whole elements of fp32"));
}

TEST(Scenario, EmptyListsMappingsAndDefaultsAreAccepted) {
  const Scenario scenario = good(R"(
workload: {size: 1MiB, training_step: {}}
expect: {}
communication:
  profile: gradhaul
  algorithm: ring
  protocol: simple
  channels: auto
  transport: rdma
  gpudirect: on
  completion: polling
  registration: once
  ring_order: balanced
  traffic_class: 0
  split_over_queue_pairs: false
cluster:
  nodes: 2
  node: hgx-h100
  network: {link: 400Gb/s, flow_control: credits, congestion_control: none, routing: static}
  faults: []
simulation:
)");
  EXPECT_THAT(scenario.all_notes(), IsEmpty());
}

TEST(Scenario, ListedRingsAreOneOrOneForEachChannel) {
  const std::string head =
      "workload: {size: 1MiB}\ncluster: {nodes: 4, node: ideal, network: ideal}\n";
  const Communication one =
      good(head + "communication: {ring_order: [0, 2, 1, 3]}\n").communication;
  EXPECT_EQ(one.ring_order, RingOrder::kListed);
  EXPECT_THAT(one.listed_rings, ElementsAre(ElementsAre(0, 2, 1, 3)));
  EXPECT_FALSE(one.channels);
  const Communication two =
      good(head + "communication: {ring_order: [[0, 1, 2, 3], [3, 2, 1, 0]]}\n").communication;
  EXPECT_THAT(two.listed_rings, ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(3, 2, 1, 0)));
  EXPECT_EQ(two.channels, 2);
}

TEST(Scenario, ExpectationsAreSplit) {
  const auto expected = good(std::string(kSmallScenario) +
                             "expect: {busbw: \">=340GB/s\", time: <70ms, limited_by: nic}\n")
                            .expectations;
  ASSERT_EQ(expected.size(), 3U);
  EXPECT_EQ(expected[0].name, "time");
  EXPECT_EQ(expected[0].sign, "<");
  EXPECT_DOUBLE_EQ(expected[0].value, 0.07);
  EXPECT_EQ(expected[1].name, "busbw");
  EXPECT_EQ(expected[1].sign, ">=");
  EXPECT_DOUBLE_EQ(expected[1].value, 340e9);
  EXPECT_EQ(expected[2].limited_by, "nic");
}

TEST(Scenario, AutoMtuFollowsThePort) {
  const std::string head = "workload: {size: 1MiB}\ncluster: {nodes: 2, node: hgx-h100, network: ";
  EXPECT_EQ(good(head + "{link: 400Gb/s, mtu: auto}}").cluster.network.mtu, 4096_B);
  EXPECT_EQ(good(head + "{link: 400Gb/s, mtu: auto, port_mtu: 2048B}}").cluster.network.mtu,
            2048_B);
  EXPECT_EQ(good(head + "{link: 400Gb/s, mtu: 1024B, port_mtu: 9000B}}").cluster.network.mtu,
            1024_B);
}

// Paths are relative to the file that names them, at every depth.
TEST(Scenario, FilesNameFilesBesideThem) {
  const std::string device = temporary_file("gpu.yaml");
  const std::string node = temporary_file("node.yaml");
  const auto beside = [](const std::string& path) {
    return "./" + path.substr(path.rfind('/') + 1);
  };
  write_text(device, "kind: gpu\nreduce_bandwidth: 10GB/s\n");
  write_text(node, "gpus: {count: 2, model: " + beside(device) + "}\n");
  const Scenario scenario = good(
      "workload: {size: 1MiB}\ncluster: {nodes: 1, node: " + beside(node) + ", network: ndr}\n");
  EXPECT_EQ(scenario.cluster.node.gpu.reduce_bandwidth, 10_GBps);
  EXPECT_EQ(scenario.cluster.node.nic_count, 0);
  write_text(device, "kind: gpu\nreduce_bandwidth: 10\n");
  EXPECT_THAT(read_file_with(temporary_file("scenario.yaml")).problems,
              ElementsAre(testing::AllOf(testing::StartsWith(testing::TempDir()),
                                         testing::HasSubstr("gpu.yaml:2:19: "))));
}

// A result file stands for the scenario that it answers.
TEST(Scenario, IsReadFromItsResult) {
  const std::string result = temporary_file("result.json");
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("")) {
    SCOPED_TRACE(name);
    const Scenario scenario = read_file_with(name).scenario;
    nlohmann::ordered_json json;
    json["schema"] = "gradhaul.result/1";
    json["scenario"]["effective"] = scenario.effective();
    write_text(result, json.dump(2));
    const Reading again = read_file_with(result);
    EXPECT_THAT(again.problems, testing::IsEmpty());
    EXPECT_EQ(again.scenario.effective(), scenario.effective());
    const Reading other = read_file_with(result, {"cluster.node.gpus.model.kernel_launch=5us"});
    EXPECT_EQ(other.scenario.cluster.node.gpu.kernel_launch, 5_us);
  }
  write_text(result, "{\"schema\": \"gradhaul.result/1\", \"scenario\": {}}");
  EXPECT_THAT(read_file_with(result).problems,
              Contains(testing::HasSubstr("does not hold its scenario")));
}

TEST(Scenario, WhatCannotBeReadIsSaid) {
  EXPECT_THAT(read_file_with("no-such-scenario").problems,
              ElementsAre(testing::HasSubstr("no scenario is called \"no-such-scenario\"")));
  EXPECT_THAT(read_file_with("./no/such.yaml").problems,
              ElementsAre(testing::HasSubstr("No such file")));
  EXPECT_THAT(read_file_with(testing::TempDir()).problems,
              ElementsAre(testing::HasSubstr("it is a folder")));
  EXPECT_THAT(read_file_with("7b-32gpus").problems,
              ElementsAre(testing::HasSubstr("did you mean \"7b-32gpu\"?")));
  EXPECT_FALSE(read_file_with("").problems.empty());
}

}  // namespace
}  // namespace gradhaul
