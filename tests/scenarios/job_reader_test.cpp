// `jobs` and `background`: what they may say, and what is wrong with them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;

std::string with(const std::string& more) {
  return "workload: {size: 1MiB, datatype: bf16}\n"
         "communication: {slots: 4}\n"
         "cluster: {nodes: 4, node: hgx-h100, network: ndr}\n" +
         more;
}

TEST(Jobs, AreNoneWhereNothingIsSaid) {
  for (const char* text : {"", "jobs: []\n", "background: []\n", "jobs:\n"}) {
    const Scenario scenario = good(with(text));
    EXPECT_TRUE(scenario.jobs.empty());
    EXPECT_TRUE(scenario.background.empty());
    EXPECT_EQ(scenario.workload.sizes.size(), 1U);
  }
}

TEST(Jobs, HaveWhatTheyDoNotSayFromTheScenario) {
  const Scenario scenario =
      good(with("jobs:\n"
                "  - {name: a, ranks: 8}\n"
                "  - {name: b, placement: [8, 16, 24], start: 3us, workload: {size: 2MiB},\n"
                "     communication: {channels: 2}}\n"
                "  - {ranks: 2, workload: {model: {parameters: 7, gradient_datatype: fp32}}}\n"));
  ASSERT_EQ(scenario.jobs.size(), 3U);
  const Job& first = scenario.jobs[0];
  EXPECT_EQ(first.name, "a");
  EXPECT_THAT(first.gpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(first.workload.sizes, ElementsAre(1_MiB));
  EXPECT_EQ(first.workload.datatype, DataType::kBf16);
  EXPECT_EQ(first.communication.slots, 4);
  EXPECT_EQ(first.start, Duration{});
  const Job& second = scenario.jobs[1];
  EXPECT_THAT(second.gpus, ElementsAre(8, 16, 24));
  EXPECT_THAT(second.workload.sizes, ElementsAre(2_MiB));
  EXPECT_EQ(second.workload.datatype, DataType::kBf16);
  EXPECT_EQ(second.communication.slots, 4);
  EXPECT_EQ(second.communication.channels, 2);
  EXPECT_EQ(second.start, 3_us);
  const Job& third = scenario.jobs[2];
  EXPECT_EQ(third.name, "job2");
  EXPECT_THAT(third.gpus, ElementsAre(9, 10));
  EXPECT_THAT(third.workload.sizes, ElementsAre(Bytes{28}));
  EXPECT_EQ(third.workload.datatype, DataType::kFp32);
}

// A model below, a size in a job: the gradient's datatype stays.
TEST(Jobs, ReplaceTheModelByASize) {
  const Scenario scenario = good(
      "workload: {model: {parameters: 1e6, gradient_datatype: bf16}}\n"
      "cluster: {nodes: 4, node: hgx-h100, network: ndr}\n"
      "jobs: [{ranks: 8}, {ranks: 8, workload: {size: 3MiB}}]\n");
  EXPECT_THAT(scenario.jobs[0].workload.sizes, ElementsAre(Bytes{2'000'000}));
  EXPECT_THAT(scenario.jobs[1].workload.sizes, ElementsAre(3_MiB));
  EXPECT_EQ(scenario.jobs[1].workload.datatype, DataType::kBf16);
}

TEST(Jobs, NeedNoWorkloadInCommon) {
  const Scenario scenario = good(
      "cluster: {nodes: 4, node: hgx-h100, network: ndr}\n"
      "jobs: [{ranks: 8, workload: {size: 1MiB}}]\n");
  EXPECT_THAT(scenario.jobs[0].workload.sizes, ElementsAre(1_MiB));
}

TEST(Jobs, AreSetByTheirNumber) {
  const Scenario scenario = good(with("jobs: [{name: a, ranks: 8}, {name: b, ranks: 8}]\n"),
                                 {"jobs.1.start=5us", "jobs.0.placement=scattered"});
  EXPECT_EQ(scenario.jobs[1].start, 5_us);
  EXPECT_THAT(scenario.jobs[1].gpus.size(), 8U);
}

// What `show` prints reads back as the same scenario.
TEST(Jobs, ReadBackAsTheyAreShown) {
  const std::string text = with(
      "jobs:\n"
      "  - {name: a, ranks: 8, placement: scattered}\n"
      "  - {name: b, placement: [9, 8], workload: {collective: send_recv}}\n"
      "background:\n"
      "  - {pattern: uniform, load: 0.25, nodes: [1, 3]}\n"
      "  - {name: q, pattern: pairs, load: 1, message: 4KiB, pairs: [[node0.nic0, "
      "node3.nic7]]}\n");
  const Scenario scenario = good(text);
  const Scenario again = good(commented_yaml(scenario.filled));
  EXPECT_EQ(again.effective(), scenario.effective());
  ASSERT_EQ(again.jobs.size(), 2U);
  EXPECT_EQ(again.jobs[0].gpus, scenario.jobs[0].gpus);
  EXPECT_THAT(again.jobs[1].gpus, ElementsAre(9, 8));
  ASSERT_EQ(again.background.size(), 2U);
  EXPECT_THAT(again.background[0].nodes, ElementsAre(1, 3));
  EXPECT_EQ(again.background[1].pairs[0].destination, 31);
}

void expect_problem(const std::string& text, const std::string& problem) {
  const Reading reading = read_text(with(text));
  ASSERT_EQ(reading.problems.size(), 1U) << text;
  EXPECT_THAT(reading.problems[0], HasSubstr(problem));
}

TEST(Jobs, SayWhatIsWrongWithThem) {
  expect_problem("jobs: 3\n", "4:7: \"jobs\" is a list");
  expect_problem("jobs: [{name: a, ranks: 8}, {name: a, ranks: 8}]\n", "two jobs are called a");
  expect_problem("jobs: [{ranks: 20}, {name: b, ranks: 13}]\n",
                 "b asks for 13 ranks, and the jobs before it leave 12 of the cluster's 32");
  expect_problem("jobs: [{ranks: 1}]\n", "it is at least 2 and at most 32");
  expect_problem("jobs: [{placement: packed}]\n", "\"ranks\" is missing");
  expect_problem("jobs: [{name: a, placement: [0, 1]}, {placement: [1, 2]}]\n",
                 "4:51: placement: rank 1 belongs to job a already");
  expect_problem("jobs: [{placement: [0, 32]}]\n", "\"32\" is no rank of this cluster");
  expect_problem("jobs: [{placement: [0, 0, 1]}]\n", "rank 0 is in the list twice");
  expect_problem("jobs: [{placement: [0, 1], ranks: 3}]\n", "ranks: 3, and the placement lists 2");
  expect_problem("jobs: [{ranks: 8, placement: scatered}]\n", "did you mean \"scattered\"?");
  expect_problem("jobs: [{ranks: 8, workload: {size: [1MiB, 2MiB]}}]\n", "and a job runs one");
  expect_problem("jobs: [{ranks: 8, wrkload: {}}]\n", "did you mean \"workload\"?");
  expect_problem("jobs: [{name: two words, ranks: 8}]\n", "one word");
  expect_problem("jobs: [{ranks: 8}]\nsimulation: {fidelity: flow}\n", "only fidelity packet");
}

// A job sees the nodes that it is on, not the cluster's.
TEST(Jobs, HaveTwoLevelsWhereTheirOwnNodesGiveThem) {
  const auto job = [](const std::string& ranks) {
    return "{" + ranks + ", communication: {algorithm: hierarchical}}";
  };
  const Scenario scenario = good(with("jobs: [{ranks: 8}, " + job("ranks: 16") + "]\n"));
  EXPECT_EQ(scenario.jobs[1].communication.algorithm, Algorithm::kHierarchical);
  expect_problem("jobs: [" + job("name: a, ranks: 8") + "]\n",
                 "and job a has one node; all others do without");
  expect_problem("jobs: [" + job("name: a, placement: [0, 8, 16, 24]") + "]\n",
                 "and job a has one rank in each node");
  expect_problem("jobs: [" + job("name: a, placement: [0, 1, 8, 10]") + "]\n",
                 "its nodes have not the same GPUs of it each");
}

TEST(Background, SaysWhatIsWrongWithIt) {
  expect_problem("background: [{pattern: ring, load: 0.3}]\n", "pattern: \"ring\" is not known");
  expect_problem("background: [{pattern: incast, load: 0}]\n", "load: 0 is out of range");
  expect_problem("background: [{pattern: incast, load: 1.2}]\n", "above 0 and at most 1");
  expect_problem("background: [{pattern: incast}]\n", "\"load\" is missing");
  expect_problem("background: [{pattern: uniform, load: 0.1, nodes: [4]}]\n",
                 "\"4\" is no node; they are called 0 to 3");
  expect_problem("background: [{pattern: uniform, load: 0.1, nodes: [2]}]\n", "and this is one");
  expect_problem("background: [{pattern: pairs, load: 0.1}]\n", "needs a list of them");
  expect_problem("background: [{pattern: pairs, load: 0.1, pairs: [[node0.nic0, node0.nic1]]}]\n",
                 "these are in one");
  expect_problem("background: [{pattern: pairs, load: 0.1, pairs: [[node0.nic0, node4.nic1]]}]\n",
                 "\"node4.nic1\" is no NIC");
  expect_problem("background: [{pattern: uniform, load: 0.1}, {pattern: uniform, load: 0.2}]\n",
                 "two background traffics are called uniform");
  const Reading one_node = read_text(
      "workload: {size: 1MiB}\ncluster: {nodes: 1, node: hgx-h100, network: ndr}\n"
      "background: [{pattern: uniform, load: 0.1}]\n");
  ASSERT_EQ(one_node.problems.size(), 1U);
  EXPECT_THAT(one_node.problems[0], HasSubstr("and there is one"));
}

}  // namespace
}  // namespace gradhaul
