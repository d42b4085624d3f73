// Who slows whom, in words and in files.

#include "analysis/company_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report.h"
#include "analysis/result_csv.h"
#include "analysis/result_json.h"
#include "analysis/table.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Job a waits 10 ms more than alone for a link of which it has a quarter of the bytes.
Prediction two_jobs() {
  Prediction prediction = gradhaul::testing::sample_prediction();
  ResultRow row = prediction.rows[0];
  row.time = Duration{20'000'000'000};
  row.limited_by = "leaf0-spine0";
  row.parts = {{"leaf0-spine1", "busy", Duration{14'000'000'000}},
               {"", "latency", Duration{6'000'000'000}}};
  row.job = "a";
  ResultRow other = row;
  other.job = "b";
  other.profile = "nccl-2.22";
  prediction.rows = {row, other};
  Company company;
  company.parties = {"a", "b", "others"};
  JobCompany job;
  job.job = "a";
  job.gpus = {"node0.gpu0", "node1.gpu0"};
  job.time = row.time;
  job.alone = Duration{10'000'000'000};
  job.alone_parts = {{"leaf0-spine0", "busy", Duration{4'000'000'000}},
                     {"", "latency", Duration{6'000'000'000}}};
  job.saved_without = {{"b", Duration{9'000'000'000}}, {"others", Duration{}}};
  company.jobs = {job, job};
  company.jobs[1].job = "b";
  company.jobs[1].alone = company.jobs[1].time;
  company.jobs[1].alone_parts = row.parts;
  company.jobs[1].saved_without.clear();
  company.shared_links = {{"leaf0-spine0", {Bytes{1'000'000}, Bytes{1'000'000}, {}}},
                          {"leaf0-spine1", {Bytes{1'000'000}, Bytes{2'000'000}, Bytes{1'000'000}}}};
  BackgroundResult background;
  background.name = "others";
  background.sources = 8;
  background.offered = 0.3;
  background.carried = 0.299;
  background.messages = 120;
  background.sent = Bytes{120'000'000};
  company.background = {background};
  prediction.company = company;
  return prediction;
}

TEST(CompanyText, SaysWhoSlowsWhomAndWhere) {
  const Prediction prediction = two_jobs();
  const std::string text = company_text(*prediction.company, prediction.rows);
  EXPECT_THAT(text, HasSubstr("#   a: 20.0 ms, 10.0 ms alone: 2.00 times as long\n"));
  EXPECT_THAT(text, HasSubstr("#     9.00 ms sooner without b\n"));
  EXPECT_THAT(text, HasSubstr("#     +10.0 ms  leaf0-spine1: moving data"));
  // The one of that kind that carries most.
  EXPECT_THAT(text, HasSubstr("#       leaf0-spine1 carries a 1 MB (25.0 %), b 2 MB (50.0 %), "
                              "others 1 MB (25.0 %)\n"));
  EXPECT_THAT(text, HasSubstr("#   b: 20.0 ms, as alone\n"));
  EXPECT_THAT(text, HasSubstr("#   leaf0-spine0: a 1 MB (50.0 %), b 1 MB (50.0 %)\n"));
  EXPECT_THAT(text, HasSubstr("# Background others (8 NICs send): 30.0 % of a wire offered, 29.9 % "
                              "carried; 120 messages, 120 MB.\n"));
}

// nccl-tests' columns stay where they are; the name of the job ends the line.
TEST(CompanyText, TheTableHasARowForEachJob) {
  const Prediction prediction = two_jobs();
  const RunDescription run = gradhaul::testing::sample_run();
  EXPECT_THAT(table_head(prediction, run), HasSubstr("   limited by   job\n"));
  EXPECT_THAT(table_head(prediction, run), HasSubstr(", profile gradhaul+nccl-2.22, "));
  EXPECT_THAT(table_row(prediction.rows[0]), EndsWith("   leaf0-spine0   a\n"));
  const Prediction plain = gradhaul::testing::sample_prediction();
  EXPECT_THAT(table_head(plain, run), HasSubstr("   limited by\n"));
  EXPECT_THAT(report(prediction, run), HasSubstr("# Who slows whom:\n"));
  EXPECT_THAT(report(plain, run), Not(HasSubstr("Who slows whom")));
}

TEST(CompanyText, FilesCarryTheJobs) {
  const Prediction prediction = two_jobs();
  const auto json = result_json(prediction, {}, "1");
  EXPECT_EQ(json["rows"][1]["job"], "b");
  EXPECT_EQ(json["company"]["jobs"][0]["slowdown"], 2.0);
  EXPECT_EQ(json["company"]["jobs"][0]["saved_without_us"]["b"], 9000.0);
  EXPECT_EQ(json["company"]["shared_links"][1]["bytes"]["b"], 2'000'000);
  EXPECT_EQ(json["company"]["background"][0]["offered"], 0.3);
  EXPECT_THAT(result_csv(prediction), HasSubstr(",limited_by,job,profile\n"));
  EXPECT_THAT(result_csv(prediction), EndsWith(",leaf0-spine0,b,nccl-2.22\n"));
  const Prediction plain = gradhaul::testing::sample_prediction();
  EXPECT_FALSE(result_json(plain, {}, "1").contains("company"));
  EXPECT_FALSE(result_json(plain, {}, "1")["rows"][0].contains("job"));
  EXPECT_THAT(result_csv(plain), Not(HasSubstr("job")));
}

}  // namespace
}  // namespace gradhaul
