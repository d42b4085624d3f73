// Files of this program with random damage: results and ladders. Whatever the damage, the answer is
// what they say or an error.

#include <gmock/gmock.h>

#include <fstream>

#include "analysis/input_error.h"
#include "analysis/ladder_file.h"
#include "analysis/stored_result.h"
#include "tests/analysis/run_reading.h"
#include "tests/damaged_text.h"

namespace gradhaul::testing {
namespace {

const std::vector<std::string> kJsonScraps{"{",
                                           "}",
                                           "[",
                                           "]",
                                           ":",
                                           ",",
                                           "\"",
                                           "null",
                                           "true",
                                           "-1",
                                           "1e999",
                                           "0",
                                           "\\",
                                           "\\u0000",
                                           "\xff",
                                           "1e-9",
                                           "9223372036854775808"};

TEST(StoredFuzz, DamagedResultsAreReadOrRefused) {
  const std::string golden = std::string(GRADHAUL_SOURCE) + "/tests/golden/";
  for (const char* name : {"predicted_all_reduce.json", "analysis_result.json"}) {
    const std::string whole = whole_text(golden + name);
    for_seeds(1500, [&](std::uint64_t seed) {
      SCOPED_TRACE(seed);
      try {
        const StoredResult result = read_stored_result(damaged_text(whole, kJsonScraps, seed));
        EXPECT_LT(result.prediction.rows.size(), 100U);
      } catch (const StoredResultError& error) {
        EXPECT_NE(*error.what(), 0);
      }
      return !::testing::Test::HasFailure();
    });
  }
}

TEST(StoredFuzz, DamagedLaddersAreReadOrRefused) {
  Ladder ladder;
  ladder.engine = {{"fidelity", "packet"}, {"seed", "1"}};
  for (const Rung rung : {Rung::kLink, Rung::kHostPair, Rung::kRingStep, Rung::kCollective}) {
    LadderRow row;
    row.rung = rung;
    row.size = {1 << 20};
    row.carried = {1 << 19};
    row.time = Duration{1'000'000};
    ladder.rows.push_back(row);
  }
  ladder.rows[1].missing = "not there";
  const std::string whole = ladder_json_text(ladder, "0");
  const std::string path = ::testing::TempDir() + "gradhaul_damaged_ladder.json";
  for_seeds(1000, [&](std::uint64_t seed) {
    SCOPED_TRACE(seed);
    std::ofstream(path, std::ios::binary) << damaged_text(whole, kJsonScraps, seed);
    try {
      const auto read = read_ladder_file(path);
      if (read) {
        EXPECT_FALSE(ladder_text(*read, "0").empty() || ladder_csv(*read).empty());
      }
    } catch (const InputError& error) {
      EXPECT_NE(*error.what(), 0);
    }
    return !::testing::Test::HasFailure();
  });
}

}  // namespace
}  // namespace gradhaul::testing
