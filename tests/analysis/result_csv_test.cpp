#include "analysis/result_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ResultCsv, OneLinePerRowUnderTheNamesOfTheResultFile) {
  Prediction prediction = testing::sample_prediction();
  const std::string text = result_csv(prediction);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  const std::string head = text.substr(0, text.find('\n'));
  EXPECT_EQ(head, csv_head() + ",profile");
  const std::string line = text.substr(head.size() + 1, text.size() - head.size() - 2);
  EXPECT_EQ(std::count(head.begin(), head.end(), ','), std::count(line.begin(), line.end(), ','));
}

TEST(ResultCsv, ValuesAreThoseOfTheRow) {
  EXPECT_EQ(csv_line(testing::sample_row()),
            "all_reduce,ring,simple,16,32,14000000000,7000000000,bf16,sum,70123.456789,"
            "199.64788732714223,386.8177816963381,27125000000,node0.nic0 (2 equal)");
}

TEST(ResultCsv, EachRowNamesItsProfileLast) {
  Prediction prediction = testing::sample_prediction();
  prediction.rows.push_back(prediction.rows[0]);
  prediction.rows[1].profile = "nccl-2.30";
  EXPECT_THAT(result_csv(prediction), HasSubstr(",limited_by,profile\n"));
  EXPECT_THAT(result_csv(prediction), HasSubstr(",node0.nic0 (2 equal),gradhaul\n"));
  EXPECT_THAT(result_csv(prediction), EndsWith(",node0.nic0 (2 equal),nccl-2.30\n"));
}

TEST(ResultCsv, FieldsWithSeparatorsAreQuoted) {
  ResultRow row = testing::sample_row();
  row.limited_by = "a, \"b\"";
  EXPECT_THAT(csv_line(row), EndsWith(",\"a, \"\"b\"\"\""));
}

}  // namespace
}  // namespace gradhaul
