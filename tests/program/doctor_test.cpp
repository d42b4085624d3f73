// gradhaul doctor as a user runs it, on copies of machines; and what it writes, read back by
// others.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/backends/sample_machines.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Doctor, OfThisHostEndsWell) {
  const ProgramRun run = run_program({"doctor"});
  EXPECT_TRUE(run.status == 0 || run.status == 3) << run.status;
  EXPECT_THAT(run.out, HasSubstr("doctor, this host"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Doctor, SaysWhetherThereIsAProblem) {
  const auto host = hgx_h100();
  const ProgramRun healthy = run_program({"doctor", "--sysfs", host->root()});
  EXPECT_EQ(healthy.status, 0) << healthy.out;
  EXPECT_THAT(healthy.out, HasSubstr("Nothing is found at fault"));
  EXPECT_THAT(healthy.out, HasSubstr("H100 SXM5 80GB, 32 GT/s x16"));
  host->write("/sys/class/infiniband/mlx5_0/ports/1/state", "2: INIT\n");
  const ProgramRun broken = run_program({"doctor", "--sysfs", host->root()});
  EXPECT_EQ(broken.status, 3);
  for (const char* text : {"1 problem, 0 warnings", "PROBLEM port-no-subnet-manager",
                           "/sys/class/infiniband/mlx5_0/ports/1/state: 2: INIT", "opensm",
                           "ibstat mlx5_0", "NOT SEEN"}) {
    EXPECT_THAT(broken.out, HasSubstr(text));
  }
}

TEST(Doctor, WarningsAloneAreNoProblem) {
  const auto host = roce_bond();
  host->write("/sys/class/net/bond0/mtu", "1500\n");
  const ProgramRun run = run_program({"doctor", "--sysfs", host->root()});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("WARNING roce-mtu"));
}

TEST(Doctor, WritesEverythingAsJson) {
  const auto host = dgx_a100();
  host->write("/sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  const std::string file = temporary_file("doctor.json");
  EXPECT_EQ(run_program({"doctor", "--sysfs", host->root(), "--json", file}).status, 3);
  const auto json = nlohmann::json::parse(text_of(file));
  EXPECT_EQ(json["schema"], "gradhaul.doctor/1");
  EXPECT_EQ(json["findings"][0]["id"], "port-rate-differs");
  EXPECT_EQ(json["findings"][0]["severity"], "problem");
  EXPECT_EQ(json["findings"][0]["evidence"][0]["text"], "100 Gb/sec (4X EDR)");
  EXPECT_EQ(json["distances"].size(), 64U);
  EXPECT_EQ(json["distances"][0]["distance"], "PIX");
  EXPECT_FALSE(json["unseen"].empty());
  EXPECT_FALSE(json["counters"].empty());
}

TEST(Doctor, WatchesForAWhile) {
  const auto host = pcie_server();
  const ProgramRun run = run_program({"doctor", "--sysfs", host->root(), "--watch", "1s"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("watched for 1 s"));
  EXPECT_THAT(run.out, HasSubstr("10800 an hour"));
}

TEST(Doctor, AnInterruptedWatchKeepsWhatWasSeen) {
  const auto host = pcie_server();
  const ProgramRun run = run_program({"doctor", "--sysfs", host->root(), "--watch", "1h"},
                                     {.signal = SIGINT, .once_said = "watching"});
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_THAT(run.out, HasSubstr("cut short"));
}

TEST(Doctor, RefusesWhatMakesNoSense) {
  const std::string empty = temporary_file("empty");
  std::filesystem::create_directories(empty);
  for (const auto& [arguments, complaint] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"doctor", "--watch", "soon"}, "--watch soon: a duration"},
           {{"doctor", "--watch", "0.1s"}, "a duration from 1s"},
           {{"doctor", "--watch", "nan s"}, "a duration from 1s"},
           {{"doctor", "--sysfs", empty + "/none"}, "there is no such folder"},
           {{"doctor", "--sysfs", empty}, "no folder sys"},
           {{"doctor", "--json", empty + "/none/x.json"}, "none"}}) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr(complaint));
    EXPECT_THAT(run.out, IsEmpty());
  }
}

TEST(NodeFile, NeedsAGpu) {
  const auto host = workstation();
  host->remove("/sys/bus/pci/devices/0000:01:00.0");
  const std::string file = temporary_file("node.yaml");
  std::filesystem::remove(file);
  const ProgramRun run = run_program({"doctor", "--sysfs", host->root(), "--node-file", file});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("a node has at least one GPU"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

struct Machine {
  const char* name;
  SampleHostPtr (*make)();
};

class NodeFileOf : public testing::TestWithParam<Machine> {};

// Two such nodes are a good scenario, and can be predicted.
TEST_P(NodeFileOf, IsANode) {
  const auto host = GetParam().make();
  const std::string node = host->root() + "/node.yaml";
  run_program({"doctor", "--sysfs", host->root(), "--node-file", node});
  const std::string scenario = host->root() + "/scenario.yaml";
  write_text(scenario,
             "scenario: two\nworkload: {size: 1MiB}\n"
             "cluster: {nodes: 2, node: " +
                 node +
                 ", network: {kind: infiniband, link: 1Gb/s, "
                 "topology: {kind: single_switch}}}\n");
  const ProgramRun check = run_program({"check", scenario});
  EXPECT_EQ(check.status, 0) << check.err << text_of(node);
  const ProgramRun predict =
      run_program({"predict", scenario, "--set", "simulation.fidelity=analytic"});
  EXPECT_EQ(predict.status, 0) << predict.err;
}

INSTANTIATE_TEST_SUITE_P(
    Machines, NodeFileOf,
    testing::Values(Machine{"dgx_a100", dgx_a100}, Machine{"hgx_h100", hgx_h100},
                    Machine{"hgx_h200_roce", hgx_h200_roce}, Machine{"hgx_b200", hgx_b200},
                    Machine{"pcie_server", pcie_server}, Machine{"dual_socket", dual_socket_good},
                    Machine{"dual_socket_wrong", dual_socket_wrong},
                    Machine{"workstation", workstation}, Machine{"amd_host", amd_host},
                    Machine{"roce_bond", roce_bond}, Machine{"cloud_vm", cloud_vm},
                    Machine{"unprivileged", unprivileged}),
    [](const auto& each) { return std::string(each.param.name); });

// What the layouts say is what the shipped nodes of these machines say.
TEST(NodeFile, OfAKnownMachineIsTheShippedOne) {
  for (const auto& [shipped, make] :
       {Machine{"dgx-a100", dgx_a100}, Machine{"hgx-h100", hgx_h100}}) {
    const auto host = make();
    const std::string node = host->root() + "/node.yaml";
    run_program({"doctor", "--sysfs", host->root(), "--node-file", node});
    const std::string rest =
        "scenario: two\nworkload: {size: 64MiB}\ncluster: {nodes: 2, network: hdr, node: ";
    const Scenario drafted = good(rest + node + "}\n");
    const Scenario known = good(rest + shipped + "}\n");
    const Node& left = drafted.cluster.node;
    const Node& right = known.cluster.node;
    ASSERT_EQ(left.pcie.size(), right.pcie.size());
    for (std::size_t i = 0; i < left.pcie.size(); ++i) {
      EXPECT_EQ(left.pcie[i].parent, right.pcie[i].parent);
      EXPECT_EQ(left.pcie[i].devices, right.pcie[i].devices);
      EXPECT_TRUE(left.pcie[i].link == right.pcie[i].link);
    }
    EXPECT_EQ(left.gpu.name, right.gpu.name);
    EXPECT_EQ(left.nic.name, right.nic.name);
    ASSERT_TRUE(left.nvlink && right.nvlink);
    EXPECT_EQ(left.nvlink->bandwidth, right.nvlink->bandwidth);
    EXPECT_EQ(left.nvlink->efficiency, right.nvlink->efficiency);
    EXPECT_EQ(left.socket_link.bandwidth, right.socket_link.bandwidth);
    EXPECT_EQ(left.root_complex.peer_to_peer_write, right.root_complex.peer_to_peer_write);
    EXPECT_EQ(left.root_complex.tlp_split, right.root_complex.tlp_split);
  }
}

}  // namespace
}  // namespace gradhaul
