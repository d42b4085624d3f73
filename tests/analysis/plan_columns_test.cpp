#include "analysis/plan_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "analysis/result_json.h"
#include "analysis/table.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

Prediction chosen_prediction() {
  Prediction prediction = testing::sample_prediction();
  ResultRow& large = prediction.rows.front();
  large.weighed = {{"ring", "simple", 16, large.time},
                   {"double_binary_tree", "ll", 8, Duration{90'000'000'000}}};
  large.nccl = NcclChoice{"2.30", {"nvlstree", "simple", 16, Duration{71'000'000'000}}};
  ResultRow small = large;
  small.algorithm = "double_binary_tree";
  small.limited_by = "latency";
  small.weighed = {{"double_binary_tree", "ll", 8, Duration{20'000'000}}};
  small.nccl.reset();
  prediction.rows.insert(prediction.rows.begin(), small);
  return prediction;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// After all others, so that what parses nccl-tests' columns parses these tables; heads stand above
// what they say.
TEST(PlanColumns, ComeLastAndLineUp) {
  const Prediction prediction = chosen_prediction();
  const std::string head = lines_of(table_head(prediction, testing::sample_run())).at(3);
  const std::vector<std::string> rows = lines_of(table_rows(prediction));
  ASSERT_EQ(rows.size(), 2U);
  const std::size_t limit = head.find("limited by");
  const std::size_t plan = head.find("plan (channels)");
  const std::size_t next = head.find("next best, estimated");
  const std::size_t nccl = head.find("NCCL 2.30 would take, expecting");
  EXPECT_EQ(rows[0].substr(limit, 10), "latency   ");
  EXPECT_EQ(rows[0].substr(plan, 32), "double_binary_tree/simple x16   ");
  EXPECT_EQ(rows[0].substr(next), "-");
  EXPECT_EQ(rows[1].substr(limit, 20), "node0.nic0 (2 equal)");
  EXPECT_EQ(rows[1].substr(plan, 18), "ring/simple x16   ");
  EXPECT_EQ(rows[1].substr(next, 33), "double_binary_tree/ll x8 90.0 ms ");
  EXPECT_EQ(rows[1].substr(nccl), "nvlstree/simple x16 71.0 ms");
}

TEST(PlanColumns, AreNotThereWithoutAChoice) {
  const Prediction prediction = testing::sample_prediction();
  EXPECT_FALSE(PlanColumns(prediction.rows).shown());
  EXPECT_EQ(table_rows(prediction), table_row(prediction.rows.front()));
}

TEST(PlanColumns, StandInTheResultFile) {
  const auto result = result_json(chosen_prediction(), {}, "0.1.0");
  const auto& row = result["rows"][1];
  EXPECT_EQ(row["weighed"][1]["protocol"], "ll");
  EXPECT_EQ(row["weighed"][1]["time_us"], 90000.0);
  EXPECT_EQ(row["nccl"]["version"], "2.30");
  EXPECT_EQ(row["nccl"]["algorithm"], "nvlstree");
  EXPECT_FALSE(result["rows"][0].contains("nccl"));
  const auto plain = result_json(testing::sample_prediction(), {}, "0.1.0");
  EXPECT_FALSE(plain["rows"][0].contains("weighed"));
}

}  // namespace
}  // namespace gradhaul
