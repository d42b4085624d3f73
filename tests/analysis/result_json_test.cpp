#include "analysis/result_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/analysis/golden_file.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::sample_prediction;
using Json = nlohmann::ordered_json;

ScenarioRecord sample_scenario() {
  return {"7b-32gpu", "scenarios/7b-32gpu.yaml", std::string(64, 'a'),
          Json{{"scenario", "7b-32gpu"}, {"cluster", {{"nodes", 4}}}}};
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(ResultJson, IsTheGoldenFile) {
  testing::expect_golden("analysis_result.json",
                         result_json_text(sample_prediction(), sample_scenario(), "0.1.0"));
}

TEST(ResultJson, KeysComeInTheOrderOfTheContract) {
  const Json result = result_json(sample_prediction(), sample_scenario(), "0.1.0");
  EXPECT_THAT(keys_of(result),
              ElementsAre("schema", "kind", "scenario", "engine", "placement", "rows", "resources",
                          "counters", "notes", "interrupted", "cost"));
  EXPECT_THAT(keys_of(result["scenario"]), ElementsAre("name", "file", "sha256", "effective"));
  EXPECT_THAT(keys_of(result["engine"]),
              ElementsAre("version", "fidelity", "seed", "digest", "exact"));
  EXPECT_THAT(keys_of(result["placement"]), ElementsAre("channels", "rings"));
  EXPECT_THAT(
      keys_of(result["rows"][0]),
      ElementsAre("collective", "algorithm", "protocol", "channels", "ranks", "size_bytes", "count",
                  "datatype", "reduction", "time_us", "algbw_GBps", "busbw_GBps", "wrong",
                  "in_place", "bytes_sent_per_rank", "limited_by", "parts_us", "profile"));
  EXPECT_THAT(keys_of(result["resources"][0]),
              ElementsAre("name", "kind", "utilisation", "bytes", "blame_us"));
  EXPECT_THAT(keys_of(result["cost"]), ElementsAre("wall_s", "cpu_s", "packets", "packet_hops",
                                                   "skipped_packet_hops", "peak_rss_bytes"));
}

TEST(ResultJson, EveryCounterHasEveryKey) {
  const Json result = result_json(sample_prediction(), sample_scenario(), "0.1.0");
  ASSERT_EQ(result["counters"].size(), 2U);
  for (const Json& counter : result["counters"]) {
    EXPECT_THAT(
        keys_of(counter),
        ElementsAre("port", "xmit_wait_us", "pfc_pause_frames", "pfc_pause_frames_sent",
                    "pfc_paused_us", "ecn_marked", "cnp", "dropped", "tx_discards", "rx_discards",
                    "retransmitted", "out_of_sequence", "packet_seq_err", "local_ack_timeout_err",
                    "rnr_nak_retry_err", "out_of_credits_us", "as_on_host"));
  }
}

TEST(ResultJson, PartsAddUpToTheTime) {
  const Json result = result_json(sample_prediction(), sample_scenario(), "0.1.0");
  const Json& row = result["rows"][0];
  double sum = 0;
  for (const auto& [key, value] : row["parts_us"].items()) sum += value.get<double>();
  EXPECT_NEAR(sum, row["time_us"].get<double>(), 1e-6);
  EXPECT_THAT(keys_of(row["parts_us"]),
              ElementsAre("node0.nic0: busy", "node1.nic0: busy", "node0.gpu0.reduce: busy",
                          "node0.nic0: credits", "kernel launch"));
}

TEST(ResultJson, NumbersReadBackTheSame) {
  const std::string text = result_json_text(sample_prediction(), sample_scenario(), "0.1.0");
  EXPECT_THAT(text, HasSubstr("\"time_us\": 70123.456789,"));
  EXPECT_THAT(text, HasSubstr("\"size_bytes\": 14000000000,"));
  EXPECT_THAT(text, HasSubstr("\"digest\": \"0123456789abcdef\""));
  EXPECT_THAT(text, HasSubstr("\"wrong\": null"));
  EXPECT_EQ(Json::parse(text), result_json(sample_prediction(), sample_scenario(), "0.1.0"));
  EXPECT_EQ(Json::parse(text).dump(2) + "\n", text);
}

TEST(ResultJson, EqualPredictionsGiveEqualBytesButForTheirCost) {
  Prediction again = sample_prediction();
  EXPECT_EQ(result_json_text(again, sample_scenario(), "0.1.0"),
            result_json_text(sample_prediction(), sample_scenario(), "0.1.0"));
  again.cost.wall_s = 1.5;
  Json other = result_json(again, sample_scenario(), "0.1.0");
  Json first = result_json(sample_prediction(), sample_scenario(), "0.1.0");
  EXPECT_NE(other, first);
  other.erase("cost");
  first.erase("cost");
  EXPECT_EQ(other, first);
}

TEST(ResultJson, AnErrorBoundStandsWhereItIsNotExact) {
  Prediction prediction = sample_prediction();
  prediction.exact = false;
  prediction.error_bound = Duration{2'000'000};
  const Json result = result_json(prediction, sample_scenario(), "0.1.0");
  EXPECT_EQ(result["engine"]["exact"], false);
  EXPECT_EQ(result["engine"]["error_bound_us"], 2.0);
}

TEST(ResultJson, EmptyListsAreListsAndNamesNeedNotBeUtf8) {
  Prediction empty;
  ScenarioRecord scenario = sample_scenario();
  scenario.file = "bad\xff.yaml";
  const Json result = Json::parse(result_json_text(empty, scenario, "0.1.0"));
  for (const char* key : {"rows", "resources", "counters", "notes"}) {
    EXPECT_TRUE(result[key].is_array()) << key;
  }
  EXPECT_TRUE(result["placement"]["rings"].is_array());
}

TEST(ResultJsonDeathTest, PartsThatDoNotAddUpEndTheRun) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].time += Duration{1};
  EXPECT_DEATH(result_json(prediction, sample_scenario(), "0.1.0"), "add up");
}

TEST(ResultJsonDeathTest, WhatIsNoNumberEndsTheRun) {
  Prediction prediction = sample_prediction();
  prediction.resources[0].utilisation = 0.0 / 0.0;
  EXPECT_DEATH(result_json(prediction, sample_scenario(), "0.1.0"), "finite");
}

}  // namespace
}  // namespace gradhaul
