#include "analysis/stored_result.h"

#include <gmock/gmock.h>

#include <functional>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::HasSubstr;
using testing::sample_prediction;
using Json = nlohmann::ordered_json;

const ScenarioRecord kScenario{"7b-32gpu", "7b-32gpu.yaml", std::string(64, 'a'),
                               Json{{"scenario", "7b-32gpu"}, {"cluster", {{"nodes", 4}}}}};

std::string sample_text() { return result_json_text(sample_prediction(), kScenario, "0.1.0"); }

// What is wrong with the sample after a change.
std::string problem(const std::function<void(Json&)>& change) {
  Json json = Json::parse(sample_text());
  change(json);
  try {
    read_stored_result(json.dump());
  } catch (const StoredResultError& error) {
    return error.what();
  }
  return "";
}

TEST(StoredResult, IsWhatWasWritten) {
  ASSERT_TRUE(is_stored_result(sample_text()));
  const StoredResult stored = read_stored_result(sample_text());
  EXPECT_TRUE(stored.predicted);
  EXPECT_EQ(stored.version, "0.1.0");
  // All that a result file holds but its cost: written again, it is the same.
  const auto without_what_is_not_read = [](const std::string& text) {
    Json json = Json::parse(text);
    json.erase("cost");
    json.erase("placement");
    return json.dump(2);
  };
  EXPECT_EQ(without_what_is_not_read(
                result_json_text(stored.prediction, stored.scenario, stored.version)),
            without_what_is_not_read(sample_text()));
}

// Whatever there is to count.
TEST(StoredResult, KeepsEveryCounter) {
  Json json = Json::parse(sample_text());
  std::int64_t value = 1;
  for (auto& [name, counter] : json["counters"][0].items()) {
    if (counter.is_number_integer()) counter = value++;
    if (counter.is_number_float()) counter = static_cast<double>(value++);
  }
  json["counters"][0]["as_on_host"] = {{"np_cnp_sent", 4}, {"port_xmit_data", 5'000'000'000}};
  const StoredResult stored = read_stored_result(json.dump());
  const Json again = Json::parse(result_json_text(stored.prediction, stored.scenario, "0.1.0"));
  EXPECT_EQ(again["counters"][0].dump(), json["counters"][0].dump());
  // Files of earlier versions lack what was not counted then.
  json["counters"][0].erase("pfc_pause_frames_sent");
  EXPECT_EQ(read_stored_result(json.dump()).prediction.counters[0].pfc_pause_frames_sent, 0);
}

TEST(StoredResult, KeepsWhatPlansTake) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].held = {16, 128, 8, Bytes{75'497'472}};
  prediction.rows[0].cpu_cores = 8;
  prediction.rows[0].setup = {Duration{4'000'000'000}, Duration{3'202'000'000}};
  const StoredResult stored = read_stored_result(result_json_text(prediction, kScenario, "0.1.0"));
  const ResultRow& row = stored.prediction.rows[0];
  EXPECT_EQ(row.held.gpu_sms, 16);
  EXPECT_EQ(row.held.queue_pairs, 128);
  EXPECT_EQ(row.held.queue_pairs_per_nic, 8);
  EXPECT_EQ(row.held.registered.count, 75'497'472);
  EXPECT_EQ(row.cpu_cores, 8);
  EXPECT_EQ(row.setup, (SetupTime{Duration{4'000'000'000}, Duration{3'202'000'000}}));
}

// Files of earlier versions have the registration of the message alone.
TEST(StoredResult, KnowsOfSetupWithoutParts) {
  Json json = Json::parse(result_json_text(sample_prediction(), kScenario, "0.1.0"));
  json["rows"][0]["setup_us"] = 322.0;
  const StoredResult stored = read_stored_result(json.dump());
  EXPECT_EQ(stored.prediction.rows[0].setup, (SetupTime{{}, Duration{322'000'000}}));
}

TEST(StoredResult, KeepsPicoseconds) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].time.ps += 1;
  prediction.rows[0].parts[0].time.ps += 1;
  const StoredResult stored = read_stored_result(result_json_text(prediction, kScenario, "0.1.0"));
  EXPECT_EQ(stored.prediction.rows[0].time.ps, 70'123'456'790);
}

TEST(StoredResult, OthersAreNone) {
  for (const char* text : {"", "  ", "scenario: gradhaul.result/1", "{}", "{\"schema\": \"x\"}"}) {
    EXPECT_FALSE(is_stored_result(text)) << text;
  }
}

TEST(StoredResult, SaysWhatIsWrong) {
  EXPECT_THAT(problem([](Json& json) { json.erase("rows"); }), HasSubstr("rows is missing"));
  EXPECT_THAT(problem([](Json& json) { json["rows"] = 3; }), HasSubstr("rows is no list"));
  EXPECT_THAT(problem([](Json& json) { json["rows"] = Json::array(); }), HasSubstr("no rows"));
  EXPECT_THAT(problem([](Json& json) { json["schema"] = "gradhaul.result/2"; }),
              HasSubstr("\"gradhaul.result/2\"; this version reads \"gradhaul.result/1\""));
  EXPECT_THAT(problem([](Json& json) { json["rows"][0]["time_us"] = "now"; }),
              HasSubstr("rows.0.time_us is no number"));
  EXPECT_THAT(problem([](Json& json) { json["rows"][0]["time_us"] = -1; }),
              HasSubstr("rows.0.time_us is no time"));
  EXPECT_THAT(problem([](Json& json) { json["rows"][0]["time_us"] = 1; }),
              HasSubstr("rows.0.parts_us do not add up"));
  EXPECT_THAT(problem([](Json& json) { json["rows"][0]["ranks"] = 1e12; }),
              HasSubstr("rows.0.ranks is no whole number"));
  EXPECT_THAT(problem([](Json& json) { json["rows"][0]["collective"] = "reduce"; }),
              HasSubstr("this version knows no \"reduce\""));
  EXPECT_THAT(problem([](Json& json) { json["counters"][1]["cnp"] = "few"; }),
              HasSubstr("counters.1.cnp is no whole number"));
  EXPECT_THAT(problem([](Json& json) { json["scenario"] = Json::array(); }),
              HasSubstr("scenario.name is missing"));
}

TEST(StoredResult, CutOrDeepFilesEndInAnError) {
  const std::string text = sample_text();
  for (std::size_t length = 0; length + 2 < text.size(); length += 37) {
    EXPECT_THROW(read_stored_result(text.substr(0, length)), StoredResultError) << length;
  }
  EXPECT_THROW(read_stored_result(std::string(100'000, '[')), StoredResultError);
  EXPECT_THROW(read_stored_result(std::string(1000, '[') + std::string(1000, ']')),
               StoredResultError);
}

}  // namespace
}  // namespace gradhaul
