// What `gradhaul show` prints reads back as the same scenario.

#include <gmock/gmock.h>

#include <filesystem>

#include "scenarios/filled_value.h"
#include "scenarios/references.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;

// The values of two filled-in scenarios, which of them are estimates, and between what these lie.
void expect_same(const FilledValue& a, const FilledValue& b, const std::string& path) {
  EXPECT_EQ(a.kind, b.kind) << path;
  EXPECT_EQ(a.text, b.text) << path;
  if (a.kind != FilledValue::Kind::kMapping) {
    EXPECT_EQ(a.origin.estimate, b.origin.estimate) << path;
    EXPECT_EQ(a.origin.low, b.origin.low) << path;
    EXPECT_EQ(a.origin.high, b.origin.high) << path;
  }
  ASSERT_EQ(a.children.size(), b.children.size()) << path;
  auto other = b.children.begin();
  for (const FilledValue& child : a.children) {
    EXPECT_EQ(child.key, other->key);
    expect_same(child, *other++, path + "." + child.key);
  }
}

void expect_round_trip(const Scenario& scenario) {
  const std::string text = commented_yaml(scenario.filled);
  const Scenario again = good(text);
  EXPECT_EQ(again.effective(), scenario.effective());
  expect_same(scenario.filled, again.filled, "");
  EXPECT_EQ(again.workload.sizes, scenario.workload.sizes);
  EXPECT_EQ(again.cluster.node.pcie.size(), scenario.cluster.node.pcie.size());
}

TEST(Show, OfEveryShippedScenarioComesBack) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("")) {
    SCOPED_TRACE(name);
    expect_round_trip(read_file_with(name).scenario);
  }
}

TEST(Show, OfEveryShippedNodeComesBack) {
  for (const std::string& name : Library(GRADHAUL_SCENARIOS).names("nodes")) {
    SCOPED_TRACE(name);
    expect_round_trip(good(kSmallScenario, {"cluster.node=" + name, "cluster.network=edr"}));
  }
}

TEST(Show, OfUnusualValuesComesBack) {
  expect_round_trip(good(
      "scenario: \"a: b # c\"\n"
      "question: \"two\\nlines, a \\\"quote\\\", a \\\\ and µ\"\n"
      "workload: {size: [10B, 1 KiB], datatype: bf16, reduction: avg}\n"
      "expect: {busbw: '>= 1GB/s', limited_by: node0.nic0}\n"
      "communication: {ring_order: [[0, 1], [1, 0]], slot_size: 1.5KiB}\n"
      "cluster: {nodes: 2, node: ideal, network: {name: \"null\", kind: ideal, link: 50GB/s}}\n"
      "simulation: {seed: 9223372036854775807, fidelity: analytic}\n"));
  expect_round_trip(
      good(kSmallScenario, {"workload.size={from: 8B, to: 1GiB, factor: 1.5}",
                            "cluster.node.nvlink=none", "cluster.node.pcie.2.link=gen3x8"}));
}

TEST(Show, HasACommentOnEveryLineOfAValue) {
  const std::string text = commented_yaml(good(kSmallScenario, {"communication.slots=4"}).filled);
  EXPECT_THAT(text, HasSubstr("slots: 4"));
  EXPECT_THAT(text, HasSubstr("# --set communication.slots=4\n"));
  EXPECT_THAT(text, HasSubstr("  slot_size: 512KiB                         # default\n"));
  EXPECT_THAT(text, HasSubstr("scenario.yaml:2\n"));
  EXPECT_THAT(text, HasSubstr("# h100-sxm.yaml:7, estimate (35GB/s to 40GB/s): "));
  std::istringstream lines(text);
  bool estimates = false;  // each of which has its comment where its value is
  for (std::string line; std::getline(lines, line);) {
    estimates = line == "  estimates:" || (estimates && line.starts_with("    "));
    const bool none = line.ends_with(':') || estimates;
    EXPECT_NE(line.find(" # ") != std::string::npos, none) << line;
  }
}

TEST(Effective, HasEveryKeyWithItsType) {
  const auto effective = good(kSmallScenario).effective();
  EXPECT_EQ(effective["workload"]["size"], "1MiB");
  EXPECT_EQ(effective["communication"]["slots"], 8);
  EXPECT_EQ(effective["communication"]["split_over_queue_pairs"], false);
  EXPECT_EQ(effective["cluster"]["node"]["nvlink"]["efficiency"], 0.824);
  EXPECT_EQ(effective["cluster"]["node"]["nics"]["model"]["message_rate"], 330'000'000);
  EXPECT_EQ(effective["cluster"]["node"]["pcie"][1]["devices"][0], "gpu1");
  EXPECT_EQ(effective["cluster"]["faults"], nlohmann::ordered_json::array());
  EXPECT_EQ(effective["expect"], nlohmann::ordered_json::object());
}

}  // namespace
}  // namespace gradhaul
