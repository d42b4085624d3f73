#include "analysis/plan_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/result_json.h"
#include "analysis/table.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

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

// After all others, so that what parses nccl-tests' columns parses these tables.
TEST(PlanColumns, ComeLast) {
  const Prediction prediction = chosen_prediction();
  const std::string head = table_head(prediction, testing::sample_run());
  EXPECT_THAT(head, HasSubstr("limited by             plan (channels)                   next best, "
                              "estimated             NCCL 2.30 would take, expecting\n"));
  const std::string rows = table_rows(prediction);
  EXPECT_THAT(rows, HasSubstr("   latency                double_binary_tree/simple x16     -\n"));
  EXPECT_THAT(rows, EndsWith("   node0.nic0 (2 equal)   ring/simple x16                   "
                             "double_binary_tree/ll x8 90.0 ms   nvlstree/simple x16 71.0 ms\n"));
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
