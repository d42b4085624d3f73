#include "analysis/time_parts.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

template <typename Parts>
Duration sum_of(const Parts& parts) {
  Duration sum;
  for (const auto& part : parts) sum += part.time;
  return sum;
}

TEST(TimeParts, MergingKeepsTheSum) {
  ResultRow row = testing::sample_row();
  row.parts.push_back({"node0.nic0", "busy", Duration{1'000}});
  row.time += Duration{1'000};
  check_parts(row);
  const std::vector<TimePart> merged = merged_parts(row);
  EXPECT_EQ(merged.size(), 5U);
  EXPECT_EQ(sum_of(merged), row.time);
  EXPECT_EQ(merged[0].time, Duration{40'000'001'000});
}

TEST(TimeParts, GroupingKeepsTheSum) {
  const ResultRow row = testing::sample_row();
  const std::vector<PartGroup> groups = grouped_parts(row);
  EXPECT_EQ(sum_of(groups), row.time);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].resources, "node*.nic0");
  EXPECT_EQ(groups[0].resource_count, 2);
  EXPECT_EQ(groups[0].cause, "busy");
  EXPECT_EQ(groups[0].time, Duration{64'000'000'000});
  EXPECT_EQ(groups[3].resources, "") << "a launch is no resource's";
}

TEST(TimeParts, WordsSayWhatIsSo) {
  EXPECT_EQ(cause_in_words("busy", "node0.socket0"), "moving data, or waiting for its turn");
  EXPECT_NE(cause_in_words("busy", "node0.socket0.iommu").find("IOTLB"), std::string::npos);
  EXPECT_NE(cause_in_words("latency", "node0.socket0.iommu").find("IOTLB"), std::string::npos);
  EXPECT_NE(cause_in_words("busy", "node0.nic0.ordered").find("order"), std::string::npos);
  for (const char* cause : {"pause storm", "taken for lost"}) {
    const std::string words = cause_in_words(cause, "node0.nic0");
    EXPECT_NE(words, cause);
    EXPECT_EQ(words.find("full"), std::string::npos) << "no buffer was";
    EXPECT_EQ(words.find("what was lost"), std::string::npos) << "nothing was";
  }
}

TEST(TimeParts, EqualPartsComeInNameOrder) {
  ResultRow row = testing::sample_row();
  row.parts = {{"b", "busy", Duration{5}}, {"a", "busy", Duration{5}}, {"c", "busy", Duration{6}}};
  const std::vector<TimePart> merged = merged_parts(row);
  EXPECT_EQ(merged[0].resource, "c");
  EXPECT_EQ(merged[1].resource, "a");
  EXPECT_EQ(merged[2].resource, "b");
}

TEST(TimePartsDeathTest, ANegativePartEndsTheRun) {
  ResultRow row = testing::sample_row();
  row.parts[0].time = Duration{-1};
  EXPECT_DEATH(check_parts(row), "no part of a time is negative");
}

}  // namespace
}  // namespace gradhaul
