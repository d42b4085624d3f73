#include "analysis/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

// A row of nccl-tests as it prints it, cut before the columns of its own that follow here.
std::string nccl_part(const std::string& row) { return row.substr(0, row.rfind("N/A") + 3); }

ResultRow timed_row(Bytes size, Duration time, int ranks) {
  ResultRow row = testing::sample_row();
  row.datatype = DataType::kFp32;
  row.size = size;
  row.count = size.count / 4;
  row.time = time;
  row.ranks = ranks;
  return row;
}

TEST(Table, HeadIsTheOneOfNcclTests) {
  const std::vector<std::string> lines =
      lines_of(table_head(testing::sample_prediction(), testing::sample_run()));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0],
            "# gradhaul 0.1.0: scenario 7b-32gpu, cluster 4 x hgx-h100 over ndr-rails (32 ranks), "
            "profile gradhaul, algorithm ring, protocol simple, channels 16, fidelity packet, "
            "seed 1");
  EXPECT_EQ(lines[1], "#");
  EXPECT_EQ(lines[2],
            "#                                                              out-of-place           "
            "            in-place          ");
  EXPECT_EQ(lines[3],
            "#       size         count      type   redop    root     time   algbw   busbw #wrong  "
            "   time   algbw   busbw #wrong   limited by");
  EXPECT_EQ(lines[4],
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)         "
            "   (us)  (GB/s)  (GB/s)       ");
}

// Lines printed by real runs of nccl-tests without checking (16 and 8 ranks).
TEST(Table, RowsAreThoseOfNcclTests) {
  EXPECT_EQ(
      nccl_part(table_row(timed_row(Bytes{8'388'608}, Duration{235'400'000}, 16))),
      "     8388608       2097152     float     sum      -1    235.4   35.64   66.82    N/A   "
      " 235.4   35.64   66.82    N/A");
  EXPECT_EQ(
      nccl_part(table_row(timed_row(Bytes{134'217'728}, Duration{1'088'000'000}, 16))),
      "   134217728      33554432     float     sum      -1   1088.0  123.36  231.30    N/A   "
      "1088.0  123.36  231.30    N/A");
  EXPECT_EQ(
      nccl_part(table_row(timed_row(Bytes{10'737'418'240}, Duration{79'813'000'000}, 8))),
      " 10737418240    2684354560     float     sum      -1    79813  134.53  235.43    N/A    "
      "79813  134.53  235.43    N/A");
  EXPECT_EQ(
      nccl_part(table_row(timed_row(Bytes{8}, Duration{69'120'000}, 16))),
      "           8             2     float     sum      -1    69.12    0.00    0.00    N/A   "
      " 69.12    0.00    0.00    N/A");
}

TEST(Table, TimeKeepsTheDigitsOfNcclTests) {
  const auto time_of = [](std::int64_t picoseconds) {
    return words_of(table_row(timed_row(Bytes{8}, Duration{picoseconds}, 2))).at(5);
  };
  EXPECT_EQ(time_of(1'234'567), "1.23");
  EXPECT_EQ(time_of(99'990'000), "99.99");
  EXPECT_EQ(time_of(100'000'000), "100.0");
  EXPECT_EQ(time_of(9'999'940'000), "9999.9");
  EXPECT_EQ(time_of(10'000'000'000), "10000");
  EXPECT_EQ(time_of(12'345'678'900'000'000), "12345678900");
}

TEST(Table, CountIsTheArgumentOfTheCollective) {
  ResultRow row = timed_row(Bytes{1024}, Duration{28'390'000}, 16);
  row.collective = Collective::kAllGather;
  // As nccl-tests prints 1024 B of all_gather on 16 ranks.
  EXPECT_THAT(table_row(row),
              StartsWith("        1024            16     float    none      -1    28.39    0.04    "
                         "0.03    N/A"));
  row.collective = Collective::kAllToAll;
  EXPECT_EQ(words_of(table_row(row)).at(1), "16");
  row.collective = Collective::kSendRecv;
  EXPECT_EQ(words_of(table_row(row)).at(1), "256");
  EXPECT_EQ(words_of(table_row(row)).at(6), words_of(table_row(row)).at(7)) << "busbw is algbw";
  row.collective = Collective::kBroadcast;
  EXPECT_EQ(words_of(table_row(row)).at(4), "0");
}

TEST(Table, DataTypesAreNamedAsNcclTestsNamesThem) {
  ResultRow row = testing::sample_row();
  for (const auto& [type, name] : {std::pair{DataType::kBf16, "bfloat16"},
                                   {DataType::kFp16, "half"},
                                   {DataType::kFp32, "float"},
                                   {DataType::kInt32, "int32"},
                                   {DataType::kInt8, "int8"},
                                   {DataType::kUint8, "uint8"}}) {
    row.datatype = type;
    EXPECT_EQ(words_of(table_row(row)).at(2), name);
  }
}

TEST(Table, FootTellsTheMeanOfAllRows) {
  Prediction prediction = testing::sample_prediction();
  prediction.rows = {timed_row(Bytes{8'000'000}, Duration{1'000'000'000}, 2),
                     timed_row(Bytes{24'000'000}, Duration{1'000'000'000}, 2)};
  EXPECT_EQ(table_foot(prediction),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 16 \n#\n");
  prediction.rows.clear();
  EXPECT_THAT(table_foot(prediction), HasSubstr("bandwidth    : 0 \n"));
}

// As scripts around nccl-tests read it: rows by a regular expression of numbers, comments skipped,
// columns by their index, the average by its label.
TEST(Table, IsReadByParsersOfNcclTests) {
  const Prediction prediction = testing::sample_prediction();
  const std::string text = table_head(prediction, testing::sample_run()) +
                           table_row(prediction.rows[0]) + table_foot(prediction);
  const std::string half = R"(\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s+(\d+|N/A))";
  const std::regex row_pattern(R"(^\s*(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+))" + half + half);
  const std::regex average_pattern(R"(^# Avg bus bandwidth\s+: ([\d.]+))");
  int rows = 0;
  int averages = 0;
  for (const std::string& line : lines_of(text)) {
    std::smatch match;
    if (std::regex_search(line, match, row_pattern)) {
      ++rows;
      EXPECT_EQ(match[1], "14000000000");
      EXPECT_EQ(match[2], "7000000000");
      EXPECT_EQ(match[6], "70123");
      EXPECT_EQ(match[8], "386.82");
      EXPECT_EQ(match[12], "386.82");
    } else if (std::regex_search(line, match, average_pattern)) {
      ++averages;
      EXPECT_NEAR(std::stod(match[1]), 386.82, 0.005);
    } else {
      EXPECT_THAT(line, StartsWith("#"));
    }
  }
  EXPECT_EQ(rows, 1);
  EXPECT_EQ(averages, 1);
  EXPECT_EQ(words_of(table_row(prediction.rows[0])).at(13), "node0.nic0");
}

}  // namespace
}  // namespace gradhaul
