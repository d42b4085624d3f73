// Ratios, verdicts and findings worked out by hand.

#include "analysis/comparison.h"

#include <gmock/gmock.h>

#include "analysis/comparison_files.h"
#include "analysis/comparison_report.h"
#include "analysis/counter_comparison.h"
#include "analysis/json_text.h"
#include "analysis/run_findings.h"
#include "tests/analysis/golden_file.h"
#include "tests/analysis/run_reading.h"

namespace gradhaul::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string golden_text(const std::string& name) {
  return whole_text(std::string(GRADHAUL_SOURCE) + "/tests/golden/" + name);
}

ComparedRun predicted_run() { return run_of(golden_text("predicted_all_reduce.json")); }

Comparison compared_with(const ComparedRun& measured, double tolerance = 0.1) {
  return compare(predicted_run(), measured, tolerance);
}

// The refusal's reasons; a comparison that takes place is a failure.
std::string refusal(const ComparedRun& predicted, const ComparedRun& measured) {
  try {
    compare(predicted, measured, 0.1);
  } catch (const Incomparable& error) {
    return error.what();
  }
  ADD_FAILURE() << "was compared";
  return "";
}

constexpr const char* kHead =
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid 1 on a device 0 [0000:1b:00] X\n"
    "#  Rank  3 Group  0 Pid 4 on b device 1 [0000:1c:00] X\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  "
    "algbw   busbw #wrong\n";

std::string nccl_row(int size, const std::string& out, const std::string& in) {
  return std::to_string(size) + " " + std::to_string(size / 4) + " float sum -1 " + out + " " + in +
         "\n";
}

// 10 MB in 500 us are 20 GB/s, times 2 * 3 / 4 are 30.
const std::string kGoodRow = nccl_row(10'000'000, "500.0 20.00 30.00 0", "400.0 25.00 37.50 0");

TEST(Comparison, RatiosAndVerdictsAreThoseWorkedOutByHand) {
  const Comparison comparison = compared_with(run_of(golden_text("measured_all_reduce.json")));
  ASSERT_EQ(comparison.pairs.size(), 4U);
  const auto& pairs = comparison.pairs;
  // 105, 80, 800 and 4400 us beside 100, 100, 500 and 4000.
  EXPECT_DOUBLE_EQ(pairs[0].time_ratio, 1.05);
  EXPECT_DOUBLE_EQ(pairs[1].time_ratio, 0.8);
  EXPECT_DOUBLE_EQ(pairs[2].time_ratio, 1.6);
  EXPECT_DOUBLE_EQ(pairs[3].time_ratio, 1.1);
  EXPECT_NEAR(*pairs[0].busbw_ratio, 1 / 1.05, 1e-12);
  EXPECT_NEAR(*pairs[2].busbw_ratio, 0.625, 1e-12);
  EXPECT_EQ(pairs[0].verdict, Verdict::kWithin);
  EXPECT_EQ(pairs[1].verdict, Verdict::kFaster);
  EXPECT_EQ(pairs[2].verdict, Verdict::kSlower);
  EXPECT_EQ(pairs[3].verdict, Verdict::kWrong);
  EXPECT_EQ(comparison.sizes(), 3U);
  EXPECT_EQ(comparison.outside(), 3U);
  EXPECT_EQ(*comparison.worst(), 2U);
  EXPECT_DOUBLE_EQ(comparison.median_ratio(), 1.075);  // of 0.8, 1.05, 1.1, 1.6
  EXPECT_THAT(comparison.only_predicted, ElementsAre(1'000'000'000));
  EXPECT_THAT(comparison.only_measured, ElementsAre(2'000'000'000));
}

TEST(Comparison, PrintsTheGoldenReportAndFiles) {
  const Comparison comparison = compared_with(run_of(golden_text("measured_all_reduce.json")));
  expect_golden("comparison_report.txt", comparison_report(comparison, "0.1.0"));
  expect_golden("comparison.json", comparison_json_text(comparison, "0.1.0"));
  expect_golden("comparison.csv", comparison_csv(comparison));
}

TEST(Comparison, TheToleranceItselfIsWithin) {
  const ComparedRun measured =
      run_of(kHead + nccl_row(10'000'000, "550.0 18.18 27.27 0", "450.0 22.22 33.33 0"));
  EXPECT_EQ(compared_with(measured, 0.1).outside(), 0U);
  EXPECT_EQ(compared_with(measured, 0.0999).outside(), 2U);
  EXPECT_EQ(compared_with(measured, 0).outside(), 2U);
}

TEST(Comparison, RepeatedRowsCountByTheirMedian) {
  std::string text = kHead;
  for (const char* half : {"520.0 19.23 28.85 0", "700.0 14.29 21.43 0", "510.0 19.61 29.41 0"}) {
    text += nccl_row(10'000'000, half, half);
  }
  const Comparison comparison = compared_with(run_of(text));
  ASSERT_EQ(comparison.pairs.size(), 2U);
  EXPECT_EQ(comparison.pairs[0].repeats, 3);
  EXPECT_DOUBLE_EQ(comparison.pairs[0].time_ratio, 1.04);
}

TEST(Comparison, SizesRoundedByTheRanksAreTheSame) {
  // Rounding leaves off less than 16 bytes for each of 4 ranks.
  const std::string text = kHead +
                           nccl_row(9'999'952, "500.0 20.00 30.00 0", "500.0 20.00 30.00 0") +
                           nccl_row(9'999'000, "500.0 20.00 30.00 0", "500.0 20.00 30.00 0");
  const Comparison comparison = compared_with(run_of(text));
  EXPECT_EQ(comparison.pairs.size(), 2U);
  EXPECT_THAT(comparison.only_measured, ElementsAre(9'999'000));
}

TEST(Comparison, DifferencesAreNamed) {
  ComparedRun measured = run_of(kHead + kGoodRow);
  measured.rows[0].datatype = "bf16";
  measured.rows[0].algorithm = "double_binary_tree";
  measured.rows[0].channels = 8;
  const Comparison comparison = compared_with(measured);
  const std::string report = comparison_report(comparison, "0");
  EXPECT_THAT(report, HasSubstr("# Note: data type: predicted fp32, measured bf16, fp32."));
  EXPECT_THAT(report, HasSubstr("# Note: algorithm: predicted ring, measured double_binary_tree."));
  EXPECT_THAT(report, HasSubstr("# Note: channels: predicted 2, measured 8."));
  EXPECT_THAT(comparison.pairs[0].remark, HasSubstr("ran double_binary_tree, 8 channels"));
}

TEST(Refusal, OfWhatDoesNotCompare) {
  const ComparedRun predicted = predicted_run();
  const ComparedRun measured = run_of(kHead + kGoodRow);
  EXPECT_THAT(refusal(measured, predicted), HasSubstr("are they swapped?"));
  EXPECT_THAT(refusal(predicted, run_of_log("nccl-tests-all-reduce.log")),
              HasSubstr("predicted for 4 ranks, measured with 16"));
  EXPECT_THAT(refusal(predicted, run_of_log("nccl-tests-srun-coloured-cut.log")),
              HasSubstr("predicted is all_reduce, measured is send_recv"));
  EXPECT_THAT(refusal(predicted, run_of_log("ib-write-bw-mebibytes.log")), HasSubstr("link-test"));
  EXPECT_THAT(refusal(predicted, run_of_log("nccl-tests-without-mpi.log")),
              HasSubstr("built without MPI=1"));
  // 2 * 15 / 16 is not 2 * 3 / 4.
  EXPECT_THAT(refusal(predicted, run_of_log("nccl-tests-tail-only.log")),
              HasSubstr("busbw/algbw of 1.875"));
  ComparedRun pair = predicted;
  for (ComparedRow& row : pair.rows) {
    row.collective = "send_recv";
    row.ranks = 2;
  }
  EXPECT_THAT(refusal(pair, run_of_log("ib-read-lat.log")), HasSubstr("a whole round trip"));
}

TEST(Comparison, RowsOfOtherCollectivesAreLeftOut) {
  const std::string other =
      "# Collective test starting: all_gather_perf\n"
      "10000000 2500000 float none -1 100.0 100.00 75.00 0 100.0 100.00 75.00 0\n";
  const Comparison comparison = compared_with(run_of(kHead + kGoodRow + other));
  EXPECT_EQ(comparison.pairs.size(), 2U);
  EXPECT_THAT(comparison.notes, ElementsAre("rows of all_gather are left out"));
}

// Perftest beside send_recv of two ranks: 1 GB predicted in 20 ms, of which the wire takes 18.
ComparedRun predicted_pair() {
  ComparedRun run = predicted_run();
  run.rows.resize(1);
  ComparedRow& row = run.rows[0];
  row.collective = "send_recv";
  row.ranks = 2;
  row.size_bytes = 1'048'576;
  row.time_us = 40;
  row.algbw_GBps = 26.2144;
  row.busbw_GBps = 26.2144;
  row.limited_by = "node0.nic0";
  row.parts_us = {{"node1.nic0: busy", 20},
                  {"kernel launch", 8},
                  {"latency", 6},
                  {"node0.gpu0.reduce: busy", 4},
                  {"kernel and host flags", 2}};
  return run;
}

TEST(Perftest, UnitsAreMebibytesOrGigabits) {
  // 47120.33 MiB/s are 49.409247 GB/s and 395.27 Gb/s; 1 MiB then takes 21.2223 us.
  const Comparison mebibytes =
      compare(predicted_pair(), run_of_log("ib-write-bw-mebibytes.log"), 0.1);
  ASSERT_EQ(mebibytes.pairs.size(), 1U);
  EXPECT_NEAR(mebibytes.pairs[0].measured.algbw_GBps, 49.409247, 1e-6);
  EXPECT_NEAR(mebibytes.pairs[0].measured.time_us, 21.22226, 1e-5);
  EXPECT_THAT(mebibytes.pairs[0].remark, HasSubstr("395.3 Gb/s"));
  // 392.50 Gb/s are 49.0625 GB/s.
  const Comparison gigabits =
      compare(predicted_pair(), run_of_log("ib-write-bw-gbits-cuda.log"), 0.1);
  EXPECT_NEAR(gigabits.pairs[0].measured.algbw_GBps, 49.0625, 1e-9);
  // Both directions together are 770.12 Gb/s: 48.1325 GB/s each.
  const Comparison both =
      compare(predicted_pair(), run_of_log("ib-write-bw-bidirectional-infinite.log"), 0.1);
  EXPECT_NEAR(both.pairs[0].measured.algbw_GBps, 48.1325, 1e-9);
  EXPECT_EQ(both.pairs[0].repeats, 3);
}

TEST(Perftest, AStreamMayBeFasterThanOneMessage) {
  // Half of the predicted 40 us moves data: 21 us in a stream say nothing, 17 us do.
  ComparedRun measured = run_of_log("ib-write-bw-mebibytes.log");
  ComparedRow row = measured.rows[3];
  ASSERT_EQ(row.size_bytes, 1'048'576);
  const auto verdict = [&](double us) {
    row.time_us = us;
    measured.rows = {row};
    return compare(predicted_pair(), measured, 0.1).pairs.at(0).verdict;
  };
  EXPECT_EQ(verdict(21), Verdict::kUnjudged);
  EXPECT_EQ(verdict(18.1), Verdict::kUnjudged);
  EXPECT_EQ(verdict(17.9), Verdict::kFaster);
  EXPECT_EQ(verdict(39), Verdict::kWithin);
  EXPECT_EQ(verdict(45), Verdict::kSlower);
}

TEST(Perftest, LatencyKnowsNoKernels) {
  // 40 us less 8 of launch, 4 of copies and 2 of flags are 26; measured are 24.70.
  const Comparison comparison = compare(predicted_pair(), run_of_log("ib-write-lat.log"), 0.1);
  ASSERT_EQ(comparison.pairs.size(), 1U);
  EXPECT_DOUBLE_EQ(comparison.pairs[0].predicted.time_us, 26);
  EXPECT_DOUBLE_EQ(comparison.pairs[0].time_ratio, 24.70 / 26);
  EXPECT_EQ(comparison.pairs[0].verdict, Verdict::kWithin);
}

TEST(Counters, StandUnderTheSameNames) {
  const Comparison comparison = compared_with(run_of(golden_text("measured_all_reduce.json")));
  const auto counters =
      compare_counters(comparison.predicted.counters, comparison.measured.counters);
  ASSERT_EQ(counters.size(), 4U);
  EXPECT_EQ(counters[0].port, "node0.nic0");
  EXPECT_EQ(counters[0].name, "xmit_wait_us");
  EXPECT_EQ(counters[0].predicted, 20);
  EXPECT_EQ(counters[0].measured, 31);
  EXPECT_EQ(counters[3].port, "");  // leaf0:3 beside node1.nic0
  EXPECT_EQ(counters[3].predicted, 7);
  EXPECT_EQ(counters[3].measured, 2);
  EXPECT_THAT(compare_counters({}, comparison.measured.counters), IsEmpty());
}

// Real ports have other names than the model's own: where both sides have these, they meet.
TEST(Counters, OfRealPortsStandUnderTheirNames) {
  const auto port = [](const char* name, std::map<std::string, std::int64_t> counts) {
    PortCounters counters;
    counters.port = name;
    counters.as_on_host = std::move(counts);
    return counters;
  };
  PortCounters waited = port("node0.nic0", {{"port_xmit_wait", 640}, {"port_xmit_data", 1000}});
  waited.xmit_wait = Duration{409'600};
  const PortCounters leaf = port("leaf0:1", {{"port_xmit_wait", 5}});
  const auto counters = compare_counters(
      {waited, leaf}, {port("node0.nic0", {{"port_xmit_data", 990}, {"packet_seq_err", 2}})});
  ASSERT_EQ(counters.size(), 4U);
  EXPECT_EQ(counters[0].name, "packet_seq_err");
  EXPECT_EQ(counters[0].port, "node0.nic0");
  EXPECT_EQ(counters[0].predicted, 0);
  EXPECT_EQ(counters[0].measured, 2);
  EXPECT_EQ(counters[1].name, "port_xmit_data");
  EXPECT_EQ(counters[1].predicted, 1000);
  EXPECT_EQ(counters[1].measured, 990);
  EXPECT_EQ(counters[2].name, "port_xmit_wait");
  EXPECT_EQ(counters[3].port, "");
  EXPECT_EQ(counters[3].predicted, 5);
}

// What a port of soft-RoCE counts stands beside what is predicted of the same, and nothing else.
TEST(Counters, OfSoftRoceStandUnderThePredictedNames) {
  PortCounters predicted;
  predicted.port = "node0.nic0";
  predicted.as_on_host = {{"port_xmit_packets", 80}, {"port_rcv_packets", 70},
                          {"packet_seq_err", 2},     {"rnr_nak_retry_err", 3},
                          {"out_of_sequence", 4},    {"link_down_events_phy", 1}};
  PortCounters measured;
  measured.port = "node0.nic0";
  measured.as_on_host = {{"sent_pkts", 81},         {"rcvd_pkts", 71},         {"rcvd_seq_err", 5},
                         {"rcvd_rnr_err", 6},       {"out_of_seq_request", 7}, {"link_downed", 1},
                         {"completer_retry_err", 8}};
  const auto is = [](const char* name, std::optional<double> of_prediction,
                     std::optional<double> of_port) {
    return AllOf(Field(&ComparedCounter::name, name),
                 Field(&ComparedCounter::predicted, of_prediction),
                 Field(&ComparedCounter::measured, of_port));
  };
  EXPECT_THAT(
      compare_counters({predicted}, {measured}),
      ElementsAre(is("completer_retry_err", std::nullopt, 8), is("link_down_events_phy", 1, 1),
                  is("out_of_seq_request", std::nullopt, 7), is("out_of_sequence", 4, std::nullopt),
                  is("packet_seq_err", 2, 5), is("port_rcv_packets", 70, 71),
                  is("port_xmit_packets", 80, 81), is("rnr_nak_retry_err", 3, 6)));
  // Other devices have link_downed, too, and mean what InfiniBand does.
  measured.as_on_host = {{"link_downed", 1}, {"port_xmit_packets", 81}};
  predicted.as_on_host = {{"link_downed", 1}, {"port_xmit_packets", 80}};
  EXPECT_THAT(compare_counters({predicted}, {measured}),
              ElementsAre(is("link_downed", 1, 1), is("port_xmit_packets", 80, 81)));
}

// Ports count all runs of a row, warm-up too; a prediction is of one.
TEST(Counters, OfARowAreThoseOfOneCollective) {
  const Comparison comparison = compared_with(run_of(golden_text("measured_all_reduce.json")));
  const RowCounterComparison of_worst = compare_counters(comparison);
  ASSERT_NE(of_worst.pair, nullptr);
  EXPECT_EQ(of_worst.pair->measured.size_bytes, 10'000'000);
  const auto is = [](const char* port, const char* name, std::optional<double> predicted,
                     std::optional<double> measured) {
    return AllOf(Field(&ComparedCounter::port, port), Field(&ComparedCounter::name, name),
                 Field(&ComparedCounter::predicted, predicted),
                 Field(&ComparedCounter::measured, measured));
  };
  // 25 runs sent 94000000 words and saw 5 gaps; what only one side has is summed, and whose ports
  // have no such counter says nothing.
  EXPECT_THAT(of_worst.counters,
              ElementsAre(is("node0.nic0", "packet_seq_err", 0, 0.2),
                          is("node0.nic0", "port_xmit_data", 3'750'000, 3'760'000),
                          is("node0.nic0", "port_xmit_wait", 40, 0),
                          is("node0.nic0", "rdma_sends", std::nullopt, 4),
                          is("", "port_xmit_data", 0, 3'760'000),
                          is("", "port_xmit_wait", 7, std::nullopt)));
  EXPECT_EQ(compare_counters(comparison, comparison.pairs.front()).pair, nullptr);
}

}  // namespace
}  // namespace gradhaul::testing
