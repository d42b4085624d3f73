#include "analysis/sweep_result.h"

#include <gmock/gmock.h>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

SweepOutcome failed(const std::string& error) {
  SweepOutcome outcome;
  outcome.error = error;
  return outcome;
}

// Three points of two axes: one done, two failed in the same way; the fourth was interrupted.
SweepResult sample_sweep() {
  SweepResult sweep;
  sweep.scenario.name = "sample";
  sweep.scenario.effective = {{"scenario", "sample"},
                              {"communication", {{"profile", "nccl-2.30"}}}};
  sweep.question = "How <many>?";
  sweep.version = "1.2.3";
  sweep.axes = {{"cluster.nodes", {"2", "4"}}, {"cluster.faults", {"[]", "[a, b]"}}};
  sweep.points = {{{"2", "[]"}, outcome_of(testing::sample_prediction(), "1.2.3")},
                  {{"2", "[a, b]"}, failed("it cannot be")},
                  {{"4", "[]"}, failed("it cannot be")},
                  {{"4", "[a, b]"}, std::nullopt}};
  return sweep;
}

TEST(SweepOutcome, TravelsAsALine) {
  SweepOutcome outcome = outcome_of(testing::sample_prediction(), "1.2.3");
  outcome.key = "abc";
  outcome.unmet = {"a sentence"};
  const std::string text = outcome_text(outcome);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto again = outcome_of_text(text);
  ASSERT_TRUE(again);
  EXPECT_EQ(outcome_text(*again), text);
  EXPECT_EQ(again->result.dump(), outcome.result.dump());
  EXPECT_FALSE(outcome_of_text("{"));
  EXPECT_FALSE(outcome_of_text("{}"));
  EXPECT_FALSE(outcome_of_text(text.substr(0, text.size() / 2)));
}

TEST(SweepOutcome, HasWhatAResultFileHasButScenarioAndCost) {
  const Json result = outcome_of(testing::sample_prediction(), "1.2.3").result;
  EXPECT_EQ(result.at("digest"), "0123456789abcdef");
  EXPECT_EQ(result.at("exact"), true);
  EXPECT_EQ(result.at("channels"), 16);
  EXPECT_EQ(result.at("rows").at(0).at("size_bytes"), 14'000'000'000);
  EXPECT_EQ(result.at("rows").at(0).at("time_us"), 70123.456789);
  EXPECT_EQ(result.at("resources").size(), 3U);
  EXPECT_EQ(result.at("counters").size(), 2U);
  EXPECT_EQ(result.at("notes").size(), 1U);
  for (const char* key : {"cost", "scenario", "placement", "schema", "version"}) {
    EXPECT_FALSE(result.contains(key)) << key;
  }
}

TEST(SweepFile, HoldsEachFinishedPointOnce) {
  const Json json = Json::parse(sweep_json_text(sample_sweep()));
  EXPECT_EQ(json.at("schema"), "gradhaul.sweep/1");
  EXPECT_EQ(json.at("scenario").at("name"), "sample");
  EXPECT_EQ(json.at("scenario").at("question"), "How <many>?");
  EXPECT_EQ(json.at("axes").at(1).at("path"), "cluster.faults");
  EXPECT_EQ(json.at("axes").at(0).at("values"), Json({"2", "4"}));
  ASSERT_EQ(json.at("points").size(), 3U);
  const Json& done = json.at("points").at(0);
  EXPECT_EQ(done.at("values"), Json({"2", "[]"}));
  EXPECT_EQ(done.at("status"), "done");
  EXPECT_TRUE(done.at("error").is_null());
  EXPECT_EQ(done.at("result").at("rows").size(), 1U);
  const Json& lost = json.at("points").at(1);
  EXPECT_EQ(lost.at("status"), "failed");
  EXPECT_EQ(lost.at("error"), "it cannot be");
  EXPECT_TRUE(lost.at("result").is_null());
}

// What differs from run to run comes last, on a line of its own.
TEST(SweepFile, IsTheSameButForItsCost) {
  SweepResult one = sample_sweep();
  SweepResult other = sample_sweep();
  one.cost = {1.5, 2.5, 100, 3};
  other.cost = {7.25, 9, 200, 0};
  other.points[0].outcome->cpu_s = 12;
  const auto without_cost = [](const std::string& text) {
    return text.substr(0, text.find("\n  \"cost\": "));
  };
  const std::string text = sweep_json_text(one);
  EXPECT_NE(text, sweep_json_text(other));
  EXPECT_EQ(without_cost(text), without_cost(sweep_json_text(other)));
  EXPECT_THAT(text.substr(without_cost(text).size() + 1), Not(HasSubstr("points\": [")));
}

TEST(SweepCsv, HasAxesBeforeTheRow) {
  const std::string csv = sweep_csv(sample_sweep());
  EXPECT_THAT(csv, HasSubstr("cluster.nodes,cluster.faults,collective,algorithm,"));
  EXPECT_THAT(csv, HasSubstr("\n2,[],all_reduce,ring,simple,16,32,14000000000,"));
  SweepResult quoted = sample_sweep();
  std::swap(quoted.points[0].values, quoted.points[1].values);
  EXPECT_THAT(sweep_csv(quoted), HasSubstr("\n2,\"[a, b]\",all_reduce,"));
}

// Of each point its own: a sweep may vary it. Jobs are told apart where there are some.
TEST(SweepCsv, EachLineNamesItsProfileLast) {
  SweepResult sweep = sample_sweep();
  Prediction jobs = testing::sample_prediction();
  jobs.rows.push_back(jobs.rows[0]);
  jobs.rows[0].job = "a";
  jobs.rows[1].job = "b";
  jobs.rows[1].profile = "nccl-2.22";
  sweep.points[1].outcome = outcome_of(jobs, "1.2.3");
  const std::string csv = sweep_csv(sweep);
  EXPECT_THAT(csv, HasSubstr(",limited_by,job,profile\n2,[],"));
  EXPECT_THAT(csv, HasSubstr(",node0.nic0 (2 equal),,gradhaul\n"));
  EXPECT_THAT(csv, HasSubstr(",node0.nic0 (2 equal),a,gradhaul\n"));
  EXPECT_THAT(csv, HasSubstr(",node0.nic0 (2 equal),b,nccl-2.22\n"));
  EXPECT_THAT(sweep_csv(sample_sweep()), HasSubstr(",limited_by,profile\n2,[],"));
  sweep.points = {{{"2", "[]"}, failed("it cannot be")}};
  EXPECT_THAT(sweep_csv(sweep), EndsWith(",limited_by,profile\n"));
}

TEST(SweepTable, HasALineForEachFinishedPoint) {
  const std::string table = sweep_table(sample_sweep());
  EXPECT_THAT(
      table,
      HasSubstr(
          "sweep of scenario sample, profile nccl-2.30, over cluster.nodes (2), cluster.faults "
          "(2): 4 points"));
  // 14 GB in 70123.46 us: 199.65 GB/s; bus: times 2 * 31 / 32.
  EXPECT_THAT(table, HasSubstr("    14000000000      70123.46   199.65   386.82   node0.nic0 (2 "
                               "equal)\n"));
  EXPECT_THAT(table, HasSubstr("failed\n"));
  EXPECT_THAT(table, HasSubstr("# Failed: 2 of 4 points\n"));
  EXPECT_THAT(table, HasSubstr("# Interrupted: 1 of 4 points are not finished\n"));
}

TEST(SweepTable, TellsOfCoresWhereTheyDiffer) {
  SweepResult sweep = sample_sweep();
  Prediction polling = testing::sample_prediction();
  polling.rows[0].cpu_cores = 8;
  sweep.points[0].outcome = outcome_of(polling, "1.2.3");
  sweep.points[1].outcome = sweep.points[0].outcome;
  EXPECT_THAT(sweep_table(sweep), Not(HasSubstr("cores")));
  polling.rows[0].cpu_cores = 2.25;
  sweep.points[1].outcome = outcome_of(polling, "1.2.3");
  EXPECT_THAT(sweep_table(sweep), HasSubstr("busbw    cores   limited by\n"));
  EXPECT_THAT(sweep_table(sweep), HasSubstr("     2.25   node0"));
}

TEST(SweepTable, TellsOfWhatPlansTakeWhereItDiffers) {
  SweepResult sweep = sample_sweep();
  Prediction prediction = testing::sample_prediction();
  prediction.rows[0].held = {16, 128, 8, Bytes{75'497'472}};
  prediction.rows[0].setup.queue_pairs = Duration{4'000'000'000};
  sweep.points[0].outcome = outcome_of(prediction, "1.2.3");
  sweep.points[1].outcome = sweep.points[0].outcome;
  EXPECT_THAT(sweep_table(sweep), Not(HasSubstr("QPs")));
  prediction.rows[0].held = {16, 640, 40, Bytes{71'303'168}};
  prediction.rows[0].setup.queue_pairs = Duration{20'250'000'000};
  sweep.points[1].outcome = outcome_of(prediction, "1.2.3");
  EXPECT_THAT(sweep_table(sweep), HasSubstr("busbw      QPs   pinned    setup   limited by\n"));
  EXPECT_THAT(sweep_table(sweep), HasSubstr("(a NIC)     (MB)     (ms)\n"));
  EXPECT_THAT(sweep_table(sweep), HasSubstr("       40     71.3     20.2   node0"));
}

TEST(SweepErrors, AreToldOnceForAllPointsThatHaveThem) {
  EXPECT_THAT(sweep_errors(sample_sweep()),
              ElementsAre("cluster.nodes=2, cluster.faults=[a, b] and 1 more: it cannot be"));
}

}  // namespace
}  // namespace gradhaul
