// What was measured, as table, CSV and result file.

#include <gmock/gmock.h>

#include "analysis/calibration_report.h"
#include "analysis/report.h"
#include "analysis/result_csv.h"
#include "analysis/result_json.h"
#include "analysis/table.h"

namespace gradhaul {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

ResultRow row_of(bool in_place, std::int64_t microseconds, std::int64_t wrong) {
  ResultRow row;
  row.algorithm = "ring";
  row.protocol = "simple";
  row.profile = "gradhaul";
  row.channels = 2;
  row.ranks = 4;
  row.size = Bytes{1'000'000};
  row.count = 250'000;
  row.time = Duration{microseconds * 1'000'000};
  row.bytes_sent_per_rank = Bytes{1'500'000};
  row.measured = IterationTimes{.in_place = in_place,
                                .wrong = wrong,
                                .iterations = 20,
                                .min = Duration{90'000'000},
                                .p50 = Duration{100'500'000},
                                .p99 = Duration{12'345'000'000},
                                .each = {Duration{12'345'000'000}, Duration{90'000'000}}};
  return row;
}

Measurement measurement() {
  Measurement measured;
  measured.backend = "tcp";
  measured.facts = {{"device", "sockets"}};
  measured.channels = 2;
  measured.rings = {{0, 1, 2, 3}};
  measured.rows = {row_of(false, 100, 0), row_of(true, 200, 3)};
  measured.notes = {"four ranks"};
  return measured;
}

const RunDescription kRun{"quick", "4 x ideal over ideal (4 ranks)", "gradhaul", "0.1.0"};

// 1 MB in 100 us is 10 GB/s; busbw is 2 · 3/4 of it. nccl-tests' own columns, then ours.
TEST(MeasuredTable, HasBothHalvesInOneLine) {
  EXPECT_EQ(table_rows(measurement()),
            "     1000000        250000     float     sum      -1"
            "    100.0   10.00   15.00      0    200.0    5.00    7.50      3"
            "      20    90.00    100.5    12345      20    90.00    100.5    12345\n");
}

TEST(MeasuredTable, SaysWhereThereIsNoOtherHalf) {
  Measurement measured = measurement();
  measured.rows.pop_back();
  EXPECT_THAT(table_rows(measured),
              AllOf(HasSubstr("  15.00      0      N/A     N/A     N/A    N/A  "),
                    EndsWith("     N/A      N/A      N/A      N/A\n")));
}

TEST(MeasuredTable, CountsHalvesThatAreWrong) {
  EXPECT_THAT(table_foot(measurement()),
              HasSubstr("# Out of bounds values : 1 FAILED\n# Avg bus bandwidth    : 11.25 \n"));
  Measurement right = measurement();
  right.rows[1].measured->wrong = 0;
  EXPECT_THAT(table_foot(right), HasSubstr("# Out of bounds values : 0 OK\n"));
}

TEST(MeasuredReport, SaysOverWhatAndWhatFailed) {
  Measurement measured = measurement();
  EXPECT_THAT(report(measured, kRun),
              AllOf(HasSubstr("# gradhaul 0.1.0: scenario quick, ranks as of 4 x ideal"),
                    HasSubstr("measured over backend tcp, device sockets\n"),
                    HasSubstr("# Note: four ranks\n"), Not(HasSubstr("Failed"))));
  measured.failures = {"rank 2: no memory", "a victim: rank 0: stopped"};
  EXPECT_THAT(report(measured, kRun), EndsWith("# Failed: rank 2: no memory\n"
                                               "# Failed: a victim: rank 0: stopped\n"));
}

TEST(MeasuredReport, CallsNothingRightWhereNothingWasMeasured) {
  Measurement measured = measurement();
  measured.rows.clear();
  measured.failures = {"rank 1: it is gone"};
  const std::string text = report(measured, kRun);
  EXPECT_THAT(text, Not(HasSubstr("OK")));
  EXPECT_THAT(text, Not(HasSubstr("Avg bus bandwidth")));
  EXPECT_THAT(text, AllOf(HasSubstr("# No size was finished"), HasSubstr("# Failed: rank 1")));
}

TEST(MeasuredJson, HasTheShapeOfEveryResultFile) {
  const nlohmann::ordered_json json =
      result_json(measurement(), {"quick", "q.yaml", "00", {}}, "1");
  EXPECT_EQ(json["schema"], "gradhaul.result/1");
  EXPECT_EQ(json["kind"], "measured");
  EXPECT_EQ(json["engine"].dump(), R"({"version":"1","backend":"tcp","device":"sockets"})");
  ASSERT_EQ(json["rows"].size(), 2U);
  const auto& row = json["rows"][1];
  EXPECT_EQ(row["wrong"], 3);
  EXPECT_EQ(row["in_place"], true);
  EXPECT_EQ(row["time_us"], 200);
  EXPECT_EQ(row["min_us"], 90);
  EXPECT_EQ(row["p50_us"], 100.5);
  EXPECT_EQ(row["p99_us"], 12345);
  EXPECT_EQ(row["times_us"], nlohmann::json({12345, 90}));
  EXPECT_EQ(row["iterations"], 20);
  EXPECT_TRUE(row["limited_by"].is_null());
  EXPECT_TRUE(json["failures"].empty());
}

// What each of three NICs says, in the order of the NICs; what they have in common stands once.
TEST(MeasuredJson, ListsWhatEachOfSeveralNicsSays) {
  Measurement measured = measurement();
  measured.facts = {{"device", "rxe0:1"}, {"gid", "1"},      {"device", "rxe1:1"},
                    {"gid", "3"},         {"mtu", "1024"},   {"device", "rxe2:1"},
                    {"gid", "3"},         {"memory", "host"}};
  const nlohmann::ordered_json result = result_json(measured, {"quick", "q.yaml", "00", {}}, "1");
  EXPECT_EQ(result["engine"].dump(),
            R"({"version":"1","backend":"tcp","device":["rxe0:1","rxe1:1","rxe2:1"],)"
            R"("gid":["1","3","3"],"mtu":"1024","memory":"host"})");
  CalibrationRecord record;
  record.found.facts = measured.facts;
  const auto json = nlohmann::json::parse(calibration_json(record, "1"));
  EXPECT_EQ(json["engine"]["device"].dump(), R"(["rxe0:1","rxe1:1","rxe2:1"])");
  EXPECT_EQ(json["engine"]["mtu"], "1024");
}

TEST(MeasuredCsv, HasColumnsOfItsOwnAtTheEnd) {
  EXPECT_EQ(
      result_csv(measurement()),
      "collective,algorithm,protocol,channels,ranks,size_bytes,count,datatype,reduction,"
      "time_us,algbw_GBps,busbw_GBps,bytes_sent_per_rank,limited_by,wrong,in_place,iterations,"
      "min_us,p50_us,p99_us,profile\n"
      "all_reduce,ring,simple,2,4,1000000,250000,fp32,sum,100,10,15,1500000,,0,false,20,90,"
      "100.5,12345,gradhaul\n"
      "all_reduce,ring,simple,2,4,1000000,250000,fp32,sum,200,5,7.5,1500000,,3,true,20,90,"
      "100.5,12345,gradhaul\n");
}

}  // namespace
}  // namespace gradhaul
