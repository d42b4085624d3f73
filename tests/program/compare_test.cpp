// gradhaul compare as a user runs it: exit statuses, messages, files.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

const std::string kGolden = std::string(GRADHAUL_SOURCE) + "/tests/golden/";
const std::string kLogs = std::string(GRADHAUL_SOURCE) + "/tests/analysis/logs/";
const std::string kPredicted = kGolden + "predicted_all_reduce.json";
const std::string kMeasured = kGolden + "measured_all_reduce.json";

TEST(Compare, IsDoneWhereAllIsWithin) {
  const std::string right = temporary_file("right.log");
  write_text(right,
             "1000000 250000 float sum -1 100.0 10.00 15.00 0 100.0 10.00 15.00 0\n"
             "10000000 2500000 float sum -1 510.0 19.61 29.41 0 500.0 20.00 30.00 0\n");
  const ProgramRun run = run_program({"compare", kPredicted, right});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("# Compared: 2 sizes (4 rows); 4 within 10 %"));
}

TEST(Compare, Is3WhereARowIsOutside) {
  const ProgramRun run = run_program({"compare", kPredicted, kMeasured});
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, IsEmpty());
  EXPECT_THAT(run.out, HasSubstr("OUTSIDE, slower"));
  // Within 60 % but for the wrong values.
  const ProgramRun wide = run_program({"compare", kPredicted, kMeasured, "--tolerance", "60%"});
  EXPECT_EQ(wide.status, 3);
  EXPECT_THAT(wide.out, HasSubstr("3 within 60 % of the predicted time, 1 outside"));
}

TEST(Compare, Is2WhereAFileCannotBeRead) {
  const std::string text = temporary_file("text.log");
  write_text(text, "nothing\nof note\n");
  const ProgramRun unknown = run_program({"compare", kPredicted, text});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.out, IsEmpty());
  EXPECT_THAT(unknown.err, StartsWith("gradhaul: " + text + ":2:1: "));
  EXPECT_THAT(unknown.err, HasSubstr("expected a result file of gradhaul"));
  for (const char* path : {"/no/such/file", "/"}) {
    EXPECT_EQ(run_program({"compare", kPredicted, path}).status, 2) << path;
  }
  const std::string broken = temporary_file("broken.json");
  write_text(broken, "{\"schema\":\n  oops}\n");
  EXPECT_THAT(run_program({"compare", broken, kMeasured}).err, HasSubstr(broken + ":2:"));
}

TEST(Compare, Is2WhereNothingCanBeJudged) {
  const ProgramRun swapped = run_program({"compare", kMeasured, kPredicted});
  EXPECT_EQ(swapped.status, 2);
  EXPECT_THAT(swapped.err, HasSubstr("are they swapped?"));
  const ProgramRun ranks =
      run_program({"compare", kPredicted, kLogs + "nccl-tests-all-reduce.log"});
  EXPECT_EQ(ranks.status, 2);
  EXPECT_THAT(ranks.err, HasSubstr("predicted for 4 ranks, measured with 16"));
  const ProgramRun bare = run_program({"compare", kPredicted, kLogs + "nccl-debug-infiniband.log"});
  EXPECT_EQ(bare.status, 2);
  EXPECT_THAT(bare.out, HasSubstr("GPU to NIC: without GPUDirect on 4 of 8 connections"));
  EXPECT_THAT(bare.err, HasSubstr("nothing to compare times with"));
  const std::string other = temporary_file("other.log");
  write_text(other, "4096 1024 float sum -1 10.00 0.41 0.61 0 10.00 0.41 0.61 0\n");
  const ProgramRun none = run_program({"compare", kPredicted, other});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("no size is on both sides: predicted 1000000 to 1000000000 B, "
                                  "measured 4096 B"));
}

TEST(Compare, OptionsAreChecked) {
  for (const char* tolerance : {"10", "0.1", "ten%", "-5%", "1001%", "%", "nan%"}) {
    const ProgramRun run =
        run_program({"compare", kPredicted, kMeasured, std::string("--tolerance=") + tolerance});
    EXPECT_EQ(run.status, 2) << tolerance;
    EXPECT_THAT(run.err, HasSubstr("is no percentage")) << tolerance;
  }
  const ProgramRun plot = run_program({"compare", kPredicted, kMeasured, "--plot", "x.gif"});
  EXPECT_EQ(plot.status, 2);
  EXPECT_THAT(plot.err, HasSubstr("--plot draws files that end in .svg, .png or .pdf"));
  EXPECT_EQ(run_program({"compare", kPredicted}).status, 2);
  EXPECT_EQ(run_program({"compare", "-", "-"}).status, 2);
  EXPECT_EQ(run_program({"compare", kPredicted, kMeasured, "--json", "/no/such/x"}).status, 2);
}

TEST(Compare, WritesFiles) {
  const std::string json = temporary_file("comparison.json");
  const std::string csv = temporary_file("comparison.csv");
  EXPECT_EQ(run_program({"compare", kPredicted, kMeasured, "--json", json, "--csv", csv}).status,
            3);
  const auto comparison = nlohmann::json::parse(text_of(json));
  EXPECT_EQ(comparison["schema"], "gradhaul.comparison/1");
  EXPECT_EQ(comparison["rows"].size(), 4U);
  EXPECT_EQ(comparison["rows"][2]["time_ratio"], 1.6);
  EXPECT_THAT(text_of(csv), HasSubstr("all_reduce,10000000,false,500,800,1.6,"));
}

// What predict writes is what compare reads.
TEST(Compare, TakesAPredictionOfTheShippedLink) {
  const std::string predicted = temporary_file("link.json");
  const ProgramRun prediction = run_program(
      {"predict", "link-test", "--set", "simulation.fidelity=analytic", "--json", predicted});
  ASSERT_EQ(prediction.status, 0) << prediction.err;
  // A measurement of exactly that: the table that predict itself prints.
  const std::string log = temporary_file("table.log");
  write_text(log, "#  Rank  1 Group  0 Pid 1 on b device 0\n# sendrecv_perf\n" + prediction.out);
  const ProgramRun same = run_program({"compare", predicted, log, "--tolerance", "1%"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("# Compared: 10 sizes (20 rows); 20 within 1 %"));
  EXPECT_EQ(run_program({"compare", predicted, predicted}).status, 0);
}

}  // namespace
}  // namespace gradhaul
