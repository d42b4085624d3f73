// Logs with random damage: whatever the damage, the answer is a run or an error that names its
// place; never a crash, never another exception, and what was read can be compared and printed.
// GRADHAUL_FUZZ_SECONDS in the environment goes on for so long with ever new seeds.

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "analysis/comparison.h"
#include "analysis/comparison_files.h"
#include "analysis/comparison_report.h"
#include "analysis/input_error.h"
#include "tests/analysis/run_reading.h"
#include "tests/damaged_text.h"

namespace gradhaul::testing {
namespace {

constexpr std::array<std::string_view, 40> kScraps{"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   ":",
                                                   ",",
                                                   "\"",
                                                   "\n",
                                                   "\r",
                                                   "\x1b[",
                                                   "\x1b]",
                                                   " ",
                                                   "\t",
                                                   "-",
                                                   "-1",
                                                   "0",
                                                   "1e999",
                                                   "nan",
                                                   "inf",
                                                   "1e-300",
                                                   "N/A",
                                                   "0.00",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "18446744073709551616",
                                                   "null",
                                                   "true",
                                                   "\xff",
                                                   "float",
                                                   "sum",
                                                   " NCCL INFO ",
                                                   " via NET/IB/",
                                                   "Channel ",
                                                   "#bytes ",
                                                   "[Gb/sec]",
                                                   "size count type time algbw busbw ",
                                                   " nranks ",
                                                   "={0..99}",
                                                   "Rank 0 Pid ",
                                                   "RDMA_Write BW Test"};

std::string damaged(std::string text, const std::string& other, DamageDraws& draws) {
  const std::size_t wounds = 1 + draws.below(6);
  for (std::size_t i = 0; i < wounds && !text.empty(); ++i) {
    const std::size_t at = draws.below(text.size());
    switch (draws.below(6)) {
      case 0:
        text.erase(at, 1 + draws.below(40));
        break;
      case 1:
        text.insert(at, kScraps[draws.below(kScraps.size())]);
        break;
      case 2:
        text.insert(at, text.substr(draws.below(text.size()), 1 + draws.below(200)));
        break;
      case 3:
        text[at] = static_cast<char>(draws.below(256));
        break;
      case 4:
        text.insert(at, other.substr(draws.below(other.size()), 1 + draws.below(400)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

void read_and_use(const std::string& text, const ComparedRun& predicted) {
  try {
    ComparedRun run = run_of(text);
    for (const ComparedRow& row : run.rows) {
      EXPECT_TRUE(std::isfinite(row.time_us) && row.time_us > 0);
      EXPECT_TRUE(std::isfinite(row.algbw_GBps));
      EXPECT_GE(row.size_bytes, 0);
    }
    const Comparison comparison = compare(predicted, std::move(run), 0.1);
    EXPECT_FALSE(comparison_report(comparison, "0").empty());
    EXPECT_FALSE(comparison_json_text(comparison, "0").empty());
    EXPECT_FALSE(comparison_csv(comparison).empty());
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("log:", 0), 0U);
    EXPECT_LT(std::string(error.what()).size(), 2000U);
  } catch (const Incomparable& error) {
    EXPECT_NE(*error.what(), 0);
  }
}

class Corpus {
 public:
  Corpus() {
    for (const std::string& name : all_logs()) texts_.push_back(whole_text(log_path(name)));
    for (const char* name : {"predicted_all_reduce.json", "measured_all_reduce.json"}) {
      texts_.push_back(whole_text(std::string(GRADHAUL_SOURCE) + "/tests/golden/" + name));
    }
  }
  std::string one_of_many(std::uint64_t seed) const {
    DamageDraws draws(seed);
    const std::string& text = texts_[draws.below(texts_.size())];
    const std::string& other = texts_[draws.below(texts_.size())];
    return damaged(text, other, draws);
  }

 private:
  std::vector<std::string> texts_;
};

TEST(ReaderFuzz, DamagedLogsAreRunsOrErrors) {
  const Corpus corpus;
  const ComparedRun predicted =
      read_run_file(std::string(GRADHAUL_SOURCE) + "/tests/golden/predicted_all_reduce.json");
  const char* asked = std::getenv("GRADHAUL_FUZZ_SECONDS");
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::seconds(asked ? std::atoi(asked) : 0);
  for (std::uint64_t seed = 1; seed <= 4000 || std::chrono::steady_clock::now() < until; ++seed) {
    SCOPED_TRACE(seed);
    const std::string text = corpus.one_of_many(seed);
    ASSERT_NO_THROW(read_and_use(text, predicted)) << text;
    if (HasFailure()) break;
  }
}

// The same of the other side: a damaged prediction.
TEST(ReaderFuzz, DamagedPredictionsAreRunsOrErrors) {
  const std::string golden = std::string(GRADHAUL_SOURCE) + "/tests/golden/";
  const std::string text = whole_text(golden + "predicted_all_reduce.json");
  const ComparedRun measured = run_of_log("nccl-tests-all-reduce.log");
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    DamageDraws draws(seed);
    const std::string broken = damaged(text, text, draws);
    SCOPED_TRACE(seed);
    try {
      const Comparison comparison = compare(run_of(broken), measured, 0.1);
      EXPECT_FALSE(comparison_report(comparison, "0").empty());
    } catch (const InputError& error) {
      EXPECT_NE(*error.what(), 0);
    } catch (const Incomparable& error) {
      EXPECT_NE(*error.what(), 0);
    }
  }
}

}  // namespace
}  // namespace gradhaul::testing
