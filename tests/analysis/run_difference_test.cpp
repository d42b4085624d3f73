#include "analysis/run_difference.h"

#include <gmock/gmock.h>

#include "tests/analysis/golden_file.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::sample_prediction;
using Json = nlohmann::ordered_json;

// 10 ms more on the wires, 1 ms less of credits, reducing as before: 79.1 ms.
Prediction slower() {
  Prediction prediction = sample_prediction();
  ResultRow& row = prediction.rows[0];
  row.parts[0].time.ps += 10'000'000'000;
  row.parts[3].time.ps -= 1'000'000'000;
  row.time.ps += 9'000'000'000;
  row.limited_by = "node0.nic0 (2 equal)";
  prediction.resources[0].utilisation = 0.22;
  prediction.counters[0].xmit_wait.ps = 2'500'000'000;
  prediction.counters[1].retransmitted = 0;
  return prediction;
}

const Json kBefore{{"scenario", "a"},
                   {"cluster", {{"nodes", 4}, {"pcie", {{{"link", "gen5x16"}}}}}},
                   {"communication", {{"ring_order", {0, 1}}}}};
const Json kAfter{{"scenario", "b"},
                  {"cluster", {{"nodes", 8}, {"pcie", {{{"link", "gen4x16"}}}}}},
                  {"communication", {{"ring_order", {1, 0}}, {"slots", 8}}}};

TEST(RunDifference, SettingsAreComparedKeyByKey) {
  const auto settings = setting_differences(kBefore, kAfter);
  ASSERT_EQ(settings.size(), 4U);
  EXPECT_EQ(settings[0].path, "cluster.nodes");
  EXPECT_EQ(settings[0].before, "4");
  EXPECT_EQ(settings[0].after, "8");
  EXPECT_EQ(settings[1].path, "cluster.pcie.0.link");
  EXPECT_EQ(settings[1].after, "gen4x16");
  EXPECT_EQ(settings[2].before, "[0,1]");
  EXPECT_EQ(settings[3].path, "communication.slots");
  EXPECT_EQ(settings[3].before, "");
  EXPECT_THAT(setting_differences(kBefore, kBefore), IsEmpty());
}

TEST(RunDifference, PartsAddUpToTheDifference) {
  const ResultRow before = sample_prediction().rows[0];
  const ResultRow after = slower().rows[0];
  const auto parts = part_differences(before, after);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].resources, "node*.nic0");
  EXPECT_EQ(parts[0].cause, "busy");
  EXPECT_EQ(parts[0].before.ps, 64'000'000'000);
  EXPECT_EQ(parts[0].after.ps, 74'000'000'000);
  EXPECT_EQ(parts[1].cause, "credits");
  std::int64_t sum = 0;
  for (const PartDifference& part : parts) sum += part.after.ps - part.before.ps;
  EXPECT_EQ(sum, after.time.ps - before.time.ps);
}

// Those that have a name of this model alone, too.
TEST(RunDifference, CountersHaveTheMissesOfNics) {
  Prediction missing = sample_prediction();
  PortCounters nic;
  nic.port = "node0.nic0";
  nic.as_on_host = {{"context_misses", 126}};
  missing.counters.push_back(nic);
  const auto counters = counter_differences(sample_prediction(), missing);
  ASSERT_EQ(counters.size(), 1U);
  EXPECT_EQ(counters[0].ports, "node0.nic0");
  EXPECT_EQ(counters[0].counter, "context_misses");
  EXPECT_EQ(counters[0].before, 0);
  EXPECT_EQ(counters[0].after, 126);
}

TEST(RunDifference, CountersAreSummedOverPorts) {
  const auto counters = counter_differences(sample_prediction(), slower());
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0].ports, "leaf0:*");
  EXPECT_EQ(counters[0].counter, "xmit_wait");
  EXPECT_EQ(counters[0].before, 4'000'000'000);
  EXPECT_EQ(counters[0].after, 5'000'000'000);
  EXPECT_EQ(counters[1].counter, "retransmitted");
  EXPECT_EQ(counters[1].before, 3);
  EXPECT_EQ(counters[1].after, 0);
}

TEST(RunDifference, UsesThatDifferByAPercentPoint) {
  const auto uses = use_differences(sample_prediction(), slower());
  ASSERT_EQ(uses.size(), 1U);
  EXPECT_EQ(uses[0].kind, "reduce");
  EXPECT_DOUBLE_EQ(uses[0].before, 0.25);
  EXPECT_DOUBLE_EQ(uses[0].after, 0.22);
}

TEST(RunDifference, IsTheGoldenText) {
  testing::expect_golden("analysis_difference.txt",
                         difference_text({"before.json", sample_prediction(), kBefore},
                                         {"after.json", slower(), kAfter}));
}

TEST(RunDifference, EqualRunsDifferInNothing) {
  const std::string text =
      difference_text({"a", sample_prediction(), kBefore}, {"b", sample_prediction(), kBefore});
  EXPECT_THAT(text, HasSubstr("It takes as long."));
  EXPECT_THAT(text, HasSubstr("Settings that differ\n  None.\n"));
}

TEST(RunDifference, OtherMessagesAndAbsentPathsAreSaid) {
  Prediction measured = sample_prediction();
  measured.rows[0].parts.clear();
  measured.rows[0].limited_by.clear();
  measured.rows[0].ranks = 8;
  const std::string text =
      difference_text({"a", sample_prediction(), kBefore}, {"b", measured, nullptr});
  EXPECT_THAT(text, HasSubstr("not the same message between the same ranks"));
  EXPECT_THAT(text, HasSubstr("one has no critical path"));
  EXPECT_THAT(text, HasSubstr("Not known: not both results hold their scenario"));
}

TEST(RunDifference, JsonHoldsAllOfIt) {
  const Json json = difference_json({"a", sample_prediction(), kBefore}, {"b", slower(), kAfter});
  EXPECT_EQ(json["schema"], "gradhaul.difference/1");
  EXPECT_EQ(json["before"]["time_us"], 70123.456789);
  EXPECT_EQ(json["after"]["time_us"], 79123.456789);
  EXPECT_EQ(json["parts"].size(), 4U);
  EXPECT_EQ(json["settings"][0]["path"], "cluster.nodes");
  EXPECT_EQ(json["counters"][0]["counter"], "xmit_wait_us");
  EXPECT_EQ(json["counters"][0]["after"], 5000);
}

}  // namespace
}  // namespace gradhaul
