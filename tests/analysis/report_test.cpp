#include "analysis/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "analysis/bottleneck.h"
#include "tests/analysis/golden_file.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_prediction;
using testing::sample_run;

std::string sentence(const Prediction& prediction) {
  return bottleneck_sentence(prediction.rows.back(), prediction.resources);
}

TEST(Report, IsTheGoldenText) {
  testing::expect_golden("analysis_report.txt", report(sample_prediction(), sample_run()));
}

TEST(Report, OnlyRowsHaveNoHash) {
  std::istringstream text(report(sample_prediction(), sample_run()));
  int rows = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] != '#') ++rows;
  }
  EXPECT_EQ(rows, 1);
}

TEST(Report, SeveralRowsSayWhichTheRestIsAbout) {
  Prediction prediction = sample_prediction();
  EXPECT_THAT(report(prediction, sample_run()), Not(HasSubstr("# At ")));
  prediction.rows.push_back(prediction.rows[0]);
  EXPECT_THAT(report(prediction, sample_run()), HasSubstr("# At 14 GB:\n# Limited by"));
}

TEST(Report, SaysWhatAPlanTakesBesideTime) {
  Prediction prediction = sample_prediction();
  EXPECT_THAT(report(prediction, sample_run()), Not(HasSubstr("beside time")));
  prediction.rows[0].held = {16, 128, 8, Bytes{75'497'472}};
  const std::string text = report(prediction, sample_run());
  EXPECT_THAT(text, HasSubstr("# What it takes beside time:\n"
                              "#         16  multiprocessors of each GPU\n"
                              "#          8  queue pairs of a NIC\n"
                              "#        128  queue pairs of all NICs\n"));
  EXPECT_THAT(text, HasSubstr("75.5 MB  memory that a rank registers\n"));
}

TEST(Report, LeavesOutPortsWithoutTrouble) {
  Prediction prediction = sample_prediction();
  PortCounters quiet;
  quiet.port = "node0.nic0";
  quiet.as_on_host = {{"port_xmit_data", 1'000'000}};
  prediction.counters = {quiet};
  EXPECT_THAT(report(prediction, sample_run()), HasSubstr("# Counters: all zero.\n"));
}

TEST(Report, AnInterruptedRunWithoutRowsIsStillATable) {
  Prediction prediction = sample_prediction();
  prediction.rows.clear();
  prediction.resources.clear();
  prediction.counters.clear();
  prediction.interrupted = true;
  const std::string text = report(prediction, sample_run());
  EXPECT_THAT(text, HasSubstr("# Interrupted: only the rows above were finished."));
  EXPECT_THAT(text, HasSubstr("# Digest 0123456789abcdef"));
}

TEST(Report, WhatIsNotExactSaysHowFar) {
  Prediction prediction = sample_prediction();
  prediction.exact = false;
  prediction.error_bound = Duration{1'500'000};
  EXPECT_THAT(report(prediction, sample_run()),
              HasSubstr("not exact: the time is right to within 1.50 us"));
}

TEST(Report, WhatWasNotSimulatedSaysWhy) {
  Prediction prediction = sample_prediction();
  prediction.cost.packet_hops = 1000;
  prediction.cost.skipped_packet_hops = 3000;
  EXPECT_THAT(report(prediction, sample_run()), HasSubstr("3000 hops followed from recurrence)"));
  prediction.cost.equal_parts = 4;
  EXPECT_THAT(report(prediction, sample_run()),
              HasSubstr("3000 hops followed from symmetry (4 equal parts))"));
  prediction.cost.skipped_packet_hops = 3001;
  EXPECT_THAT(report(prediction, sample_run()),
              HasSubstr("followed from symmetry (4 equal parts) and recurrence)"));
}

TEST(Report, CountersAreToldByShapeOfPortWithTheirRange) {
  Prediction prediction = sample_prediction();
  EXPECT_THAT(report(prediction, sample_run()),
              HasSubstr("leaf0:* (2 ports): xmit_wait 1.50 ms to 2.50 ms, retransmitted 0 to 3\n"));
  prediction.counters.clear();
  EXPECT_THAT(report(prediction, sample_run()), HasSubstr("# Counters: all zero.\n"));
}

// The cause "context misses" has its counter, at a port that counts no trouble beside it, too.
TEST(Report, TellsMissesOfANic) {
  Prediction prediction = sample_prediction();
  PortCounters missing;
  missing.port = "node0.nic0";
  missing.as_on_host = {{"port_xmit_data", 1'000'000}, {"context_misses", 126}};
  PortCounters other = missing;
  other.port = "node1.nic0";
  other.as_on_host["context_misses"] = 120;
  prediction.counters = {missing, other};
  EXPECT_THAT(report(prediction, sample_run()),
              HasSubstr("#   node*.nic0 (2 ports): context_misses 120 to 126\n"));
}

TEST(Report, LongListsAreCutAndSayBy) {
  Prediction prediction = sample_prediction();
  for (int i = 0; i < 20; ++i) {
    prediction.resources.push_back({"node0.nic" + std::to_string(i), "nic", i / 20.0, {}, {}});
  }
  EXPECT_THAT(report(prediction, sample_run()), HasSubstr("#   … and 12 more\n"));
}

TEST(ReportDeathTest, PartsThatDoNotAddUpEndTheRun) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].parts.back().time += Duration{1};
  EXPECT_DEATH(report(prediction, sample_run()), "parts of a row's time add up");
}

TEST(Bottleneck, NamesTheResourceItsUseAndItsShareOfTheTime) {
  EXPECT_EQ(
      sentence(sample_prediction()),
      "Limited by node0.nic0 (2 equal): its wire carries data 97 % of the time. 66.0 of 70.1 ms "
      "of the critical path (94 %) is spent on it and its equals.");
}

TEST(Bottleneck, OneAloneIsSpokenOfAlone) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].limited_by = "node0.gpu0.reduce";
  EXPECT_EQ(
      sentence(prediction),
      "Limited by node0.gpu0.reduce: its reduce kernels are at work 25 % of the time. 4.00 of 70.1 "
      "ms of the critical path (5.7 %) is spent on it. Busier, but less waited for, is "
      "node0.nic0, 97 % of the time.");
}

TEST(Bottleneck, LatencyNamesTheBusiestResource) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].limited_by = "latency";
  EXPECT_EQ(
      sentence(prediction),
      "Limited by latency: the data is on its way, or waits for software, most of the time, not "
      "for bandwidth. Nothing is busier than node0.nic0, 97 % of the time. Only 68.0 of 70.1 ms "
      "of the critical path (97 %) is spent moving data.");
}

TEST(Bottleneck, SlotsNameTheirKeys) {
  Prediction prediction = sample_prediction();
  prediction.rows[0].limited_by = "slots";
  prediction.rows[0].parts[3] = {"", "slot credits", Duration{2'000'000'000}};
  EXPECT_EQ(sentence(prediction),
            "Limited by slots: senders wait until a receive slot of their peer is free (keys slots "
            "and slot_size). 2.00 of 70.1 ms of the critical path (2.9 %) is spent so.");
}

TEST(Bottleneck, AResourceWithoutFiguresIsNamedAlone) {
  Prediction prediction = sample_prediction();
  prediction.resources.clear();
  EXPECT_EQ(sentence(prediction), "Limited by node0.nic0 (2 equal).");
}

}  // namespace
}  // namespace gradhaul
