// Ladders laid side by side: times in, verdict out.

#include "analysis/ladder_comparison.h"

#include <gmock/gmock.h>

#include <fstream>

#include "analysis/input_error.h"

namespace gradhaul {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Of 1000 B in a step and 6000 B in all, in microseconds; 0: missing.
Ladder ladder_of(bool predicted, const std::vector<int>& times, std::int64_t size = 4000) {
  Ladder ladder;
  ladder.predicted = predicted;
  ladder.scenario.name = "rungs";
  ladder.engine = {{predicted ? "fidelity" : "backend", predicted ? "packet" : "tcp"}};
  const Rung rungs[] = {Rung::kLink, Rung::kHostPair, Rung::kGpuPair, Rung::kRingStep,
                        Rung::kCollective};
  for (std::size_t i = 0; i < times.size(); ++i) {
    LadderRow row;
    row.rung = rungs[i];
    row.size = {size};
    row.carried = {row.rung == Rung::kCollective ? 6000 : 1000};
    row.time = {std::int64_t{times[i]} * 1'000'000};
    if (times[i] == 0) row.missing = "nobody looked";
    ladder.rows.push_back(row);
  }
  return ladder;
}

LadderComparison compared(const std::vector<int>& measured) {
  return compare_ladders(ladder_of(true, {100, 110, 120, 200, 1300}), ladder_of(false, measured),
                         0.1);
}

std::string gap_of(const std::vector<int>& measured) {
  const LadderComparison comparison = compared(measured);
  return comparison.gaps.empty() ? "none" : sentence_of(comparison.gaps.front());
}

TEST(LadderComparison, PutsTheGapToTheRungAtWhichItArises) {
  EXPECT_EQ(gap_of({0, 110, 0, 200, 1300}), "none");
  EXPECT_EQ(gap_of({0, 121, 0, 220, 1430}), "none");  // exactly the tolerance
  EXPECT_EQ(gap_of({0, 112, 0, 300, 2600}),
            "the gap arises at: ring step (slower; pair, host memory is within the tolerance)");
  EXPECT_EQ(gap_of({0, 112, 0, 200, 1431}),
            "the gap arises at: collective (slower; ring step is within the tolerance)");
  EXPECT_EQ(gap_of({100, 110, 60, 200, 1300}),
            "the gap arises at: pair, GPU memory (faster; pair, host memory is within the "
            "tolerance)");
  EXPECT_EQ(gap_of({0, 200, 0, 300, 2600}),
            "the gap is there at the lowest rung that both have: pair, host memory (slower); it "
            "arises there or below");
}

TEST(LadderComparison, CountsWhatIsOutside) {
  const LadderComparison comparison = compared({0, 200, 0, 200, 2600});
  EXPECT_EQ(comparison.judged(), 3U);
  EXPECT_EQ(comparison.outside(), 2U);
  EXPECT_EQ(compared({0, 0, 0, 0, 0}).judged(), 0U);
}

std::string profiled(const std::string& profile) {
  return R"({"communication": {"profile": ")" + profile + "\"}}";
}

TEST(LadderComparison, NamesBothProfiles) {
  Ladder predicted = ladder_of(true, {1, 1, 1, 1, 1});
  predicted.scenario.effective = nlohmann::ordered_json::parse(profiled("nccl-2.30"));
  Ladder measured = ladder_of(false, {1, 1, 1, 1, 1});
  measured.scenario.effective = nlohmann::ordered_json::parse(profiled("gradhaul"));
  LadderComparison comparison = compare_ladders(predicted, measured, 0.1);
  comparison.predicted = "a.json";
  comparison.measured = "b.json";
  EXPECT_THAT(ladder_comparison_text(comparison, "1"),
              HasSubstr("ladders a.json (predicted, profile nccl-2.30) and b.json (measured, "
                        "profile gradhaul), tolerance"));
  const std::string csv = ladder_comparison_csv(comparison);
  EXPECT_THAT(csv, HasSubstr(",verdict,missing,predicted_profile,measured_profile\n"));
  EXPECT_THAT(csv, EndsWith(",within,,nccl-2.30,gradhaul\n"));
  const auto json = nlohmann::json::parse(ladder_comparison_json(comparison, "1"));
  EXPECT_EQ(json["predicted_profile"], "nccl-2.30");
  EXPECT_EQ(json["measured_profile"], "gradhaul");
}

TEST(LadderComparison, RefusesWhatDoesNotCompare) {
  const Ladder predicted = ladder_of(true, {1, 1, 1, 1, 1});
  const Ladder measured = ladder_of(false, {1, 1, 1, 1, 1});
  EXPECT_THROW(compare_ladders(measured, predicted, 0.1), Incomparable);
  EXPECT_THROW(compare_ladders(predicted, predicted, 0.1), Incomparable);
  EXPECT_THROW(compare_ladders(predicted, ladder_of(false, {1, 1}, 4004), 0.1), Incomparable);
  Ladder other = measured;
  other.rows[1].carried = {2000};
  EXPECT_THROW(compare_ladders(predicted, other, 0.1), Incomparable);
}

// 1000 B in 100 us are 0.01 GB/s; 1000 B in 200 us half of the rung below that is there.
TEST(LadderFile, SharesAreOfTheRungBelowThatIsThere) {
  const Ladder ladder = ladder_of(false, {100, 0, 0, 200, 1500});
  EXPECT_DOUBLE_EQ(bandwidth_of(ladder.rows[0]), 1e7);
  EXPECT_EQ(share_of_below(ladder.rows, 0), std::nullopt);
  EXPECT_EQ(share_of_below(ladder.rows, 1), std::nullopt);
  EXPECT_DOUBLE_EQ(share_of_below(ladder.rows, 3).value(), 0.5);
  EXPECT_DOUBLE_EQ(share_of_below(ladder.rows, 4).value(), 0.8);  // 4 of 5 GB/s
}

TEST(LadderFile, ReadsBackWhatItWrote) {
  Ladder written = ladder_of(false, {0, 110, 0, 200, 1300});
  written.scenario.effective = nlohmann::ordered_json::parse(profiled("nccl-2.22"));
  const std::string path = testing::TempDir() + "ladder_reads_back.json";
  std::ofstream(path) << ladder_json_text(written, "1.2.3");
  const auto read = read_ladder_file(path);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->predicted);
  EXPECT_EQ(profile_of(read->scenario.effective), "nccl-2.22");
  ASSERT_EQ(read->rows.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(read->rows[i].rung, written.rows[i].rung);
    EXPECT_EQ(read->rows[i].missing, written.rows[i].missing);
    EXPECT_EQ(read->rows[i].time, written.rows[i].time);
    EXPECT_EQ(read->rows[i].carried, written.rows[i].carried);
  }
  std::ofstream(path) << R"({"schema": "gradhaul.ladder/1", "kind": "measured", "rows": [{"rung":
    "stair"}]})";
  try {
    read_ladder_file(path);
    FAIL() << "a stair is no rung";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rows[0].rung is not link, host_pair"));
  }
  std::ofstream(path) << R"({"schema": "gradhaul.result/1"})";
  EXPECT_FALSE(read_ladder_file(path));
  EXPECT_FALSE(read_ladder_file(path + ".none"));
}

}  // namespace
}  // namespace gradhaul
