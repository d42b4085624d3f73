#include "analysis/explanation.h"

#include <gmock/gmock.h>

#include <sstream>

#include "analysis/capacity.h"
#include "analysis/speed_text.h"
#include "analysis/wrapped_text.h"
#include "tests/analysis/golden_file.h"
#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using ::testing::Not;
using testing::sample_prediction;
using Json = nlohmann::ordered_json;

Cluster ndr_cluster() {
  Cluster cluster;
  cluster.network.link = 400_Gbps;
  cluster.node.gpu.pcie = PcieLink{5, 16};
  cluster.node.nic.pcie = PcieLink{5, 16};
  cluster.node.gpu.reduce_bandwidth = 37_GBps;
  cluster.node.gpu.memory_bandwidth = 3350_GBps;
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  cluster.node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {"gpu0", "nic0"}},
                       {"", "socket0", PcieLink{3, 16}, {"gpu1"}}};
  return cluster;
}

TriedChange tried(std::string change, std::vector<std::string> settings, Duration time,
                  std::string limited_by) {
  TriedChange result;
  result.change = std::move(change);
  result.settings = std::move(settings);
  result.time = time;
  result.limited_by = std::move(limited_by);
  result.channels = 16;
  result.command = "gradhaul predict 7b-32gpu";
  for (const std::string& setting : result.settings) result.command += " --set " + setting;
  return result;
}

Explanation sample_explanation() {
  Explanation explanation;
  explanation.run = testing::sample_run();
  explanation.prediction = sample_prediction();
  explanation.cluster = ndr_cluster();
  explanation.command = "7b-32gpu";
  explanation.changes = {tried("slots of 1MiB instead of 512KiB", {"communication.slot_size=1MiB"},
                               {71'526'000'000}, "node0.nic0 (2 equal)"),
                         tried("network links of 800Gb/s instead of 400Gb/s",
                               {"cluster.network.link=800Gb/s"}, {35'061'728'394}, "slots")};
  explanation.changes[0].limiting_use = 0.97;
  explanation.changes[1].channels = 32;
  TriedChange hops;
  hops.change = "PCIe links with half the delay";
  hops.obstacle = "they are constants";
  explanation.changes.push_back(hops);
  return explanation;
}

TEST(Explanation, IsTheGoldenText) {
  testing::expect_golden("analysis_explanation.txt", explanation_text(sample_explanation()));
}

TEST(Explanation, NoLineIsTooWideButCommands) {
  std::istringstream text(explanation_text(sample_explanation()));
  for (std::string line; std::getline(text, line);) {
    if (line.find("--") != std::string::npos) continue;
    EXPECT_LE(line.size(), 100U) << line;
  }
}

TEST(Explanation, AResultAloneIsExplainedToo) {
  Explanation explanation = sample_explanation();
  explanation.cluster.reset();
  explanation.command.clear();
  explanation.changes.clear();
  explanation.untried = "There is no scenario.";
  const std::string text = explanation_text(explanation);
  EXPECT_THAT(text, HasSubstr("What would help\n  There is no scenario.\n"));
  EXPECT_THAT(text, Not(HasSubstr("See it yourself")));
  EXPECT_THAT(text, Not(HasSubstr("It can carry")));
}

TEST(Explanation, WhatWasMeasuredHasNoPath) {
  Explanation explanation = sample_explanation();
  explanation.prediction.rows[0].parts.clear();
  explanation.prediction.rows[0].limited_by.clear();
  const std::string text = explanation_text(explanation);
  EXPECT_THAT(text, HasSubstr("What limits it\n  This result does not say.\n"));
  EXPECT_THAT(text, HasSubstr("it has no critical path"));
}

TEST(Explanation, ALargerPartElsewhereIsTold) {
  Explanation explanation = sample_explanation();
  ResultRow& row = explanation.prediction.rows[0];
  std::swap(row.parts[0].time, row.parts[3].time);  // 40 ms of credits, 2 of data
  EXPECT_THAT(explanation_text(explanation),
              HasSubstr("The largest part of the path is not moving"));
  row.limited_by = "node0.gpu0.reduce";
  EXPECT_THAT(explanation_text(explanation), HasSubstr("The largest part of the path is another"));
}

TEST(Explanation, InterruptedSaysSo) {
  Explanation explanation = sample_explanation();
  explanation.interrupted = true;
  EXPECT_THAT(explanation_text(explanation), HasSubstr("Interrupted: what else might help"));
}

TEST(Explanation, BlameOfResourcesAddsUp) {
  const auto blames = blame_of_resources(sample_prediction().rows[0]);
  ASSERT_EQ(blames.size(), 3U);
  EXPECT_EQ(blames[0].resources, "node*.nic0");
  EXPECT_EQ(blames[0].resource_count, 2);
  EXPECT_EQ(blames[0].time.ps, 66'000'000'000);
  EXPECT_EQ(blames[1].resources, "node0.gpu0.reduce");
  EXPECT_EQ(blames[2].resources, "");
  EXPECT_EQ(blames[2].time.ps, 123'456'789);
}

TEST(Explanation, JsonHoldsAllOfIt) {
  const ScenarioRecord record{"7b-32gpu", "7b.yaml", "abc", Json{{"scenario", "7b-32gpu"}}};
  const Json json = explanation_json(sample_explanation(), record);
  EXPECT_EQ(json["schema"], "gradhaul.explanation/1");
  EXPECT_EQ(json["scenario"]["effective"]["scenario"], "7b-32gpu");
  EXPECT_EQ(json["run"]["time_us"], 70123.456789);
  EXPECT_EQ(json["run"]["limited_by"], "node0.nic0 (2 equal)");
  double sum = 0;
  for (const Json& part : json["parts"]) sum += part["time_us"].get<double>();
  EXPECT_NEAR(sum, 70123.456789, 1e-6);
  ASSERT_EQ(json["what_ifs"].size(), 3U);
  EXPECT_EQ(json["what_ifs"][1]["settings"][0], "cluster.network.link=800Gb/s");
  EXPECT_EQ(json["what_ifs"][1]["command"],
            "gradhaul predict 7b-32gpu --set cluster.network.link=800Gb/s");
  EXPECT_NEAR(json["what_ifs"][1]["times_as_fast"].get<double>(), 2, 1e-6);
  EXPECT_EQ(json["what_ifs"][2]["not_tried"], "they are constants");
  EXPECT_FALSE(json["interrupted"].get<bool>());
}

// Rates times the share of payload; PCIe: 128/130 coding and 3 % of DLLPs.
TEST(Capacity, IsRateLessHeaders) {
  const Cluster cluster = ndr_cluster();
  const auto of = [&cluster](const char* name, const char* kind) {
    return capacity_sentence({name, kind, 0, {}, {}}, cluster, 16, false);
  };
  EXPECT_EQ(of("node3.nic0", "nic"),
            "It can carry 50.0 GB/s each way; the headers of packets of 4096 bytes leave 49.7 GB/s "
            "of that for data.");  // 50 x 4096 / 4122 = 49.68
  // 32 GT/s x 16 x 128/130 x 0.97 / 8 = 61.12; x 256/280 = 55.89
  EXPECT_THAT(of("node3.gpu0.pcie", "pcie"), HasSubstr("61.1 GB/s each way"));
  EXPECT_THAT(of("node3.gpu0.pcie", "pcie"), HasSubstr("leave 55.9 GB/s"));
  EXPECT_THAT(of("node0.sw0", "pcie_uplink"), HasSubstr("30.6 GB/s each way"));
  // The socket's link caps the device's own.
  EXPECT_THAT(of("node0.gpu1.pcie", "pcie"), HasSubstr("15.3 GB/s each way"));
  EXPECT_EQ(of("node0.gpu0.nvlink", "nvlink"),
            "It can carry 450 GB/s each way, of which kernels get 371 GB/s.");
  EXPECT_THAT(of("node0.gpu0.reduce", "reduce"), HasSubstr("16 channels together 592 GB/s"));
  EXPECT_EQ(of("node0.gpu0.memory", "memory"), "It can move 3.35 TB/s, reads and writes together.");
  EXPECT_EQ(of("node0.socket0", "socket"), "");
  EXPECT_EQ(of("node0.sw9", "pcie_uplink"), "");
  EXPECT_EQ(of("x", "unheard of"), "");
}

TEST(Capacity, OfAnUplinkIsSharedByWhatStaysBelowItWhereAcsIsOn) {
  Cluster cluster = ndr_cluster();
  const auto uplink = [&cluster] {
    return capacity_sentence({"node0.sw0", "pcie_uplink", 0, {}, {}}, cluster, 1, false);
  };
  EXPECT_THAT(uplink(), Not(HasSubstr("ACS")));
  cluster.node.pcie_settings.acs = true;
  EXPECT_THAT(uplink(), HasSubstr("goes up to the root complex here, and down again"));
}

// Of 64 bytes 84 on the link; 32 credits of 64 bytes in 200 ns are 10.24 GB/s.
TEST(Capacity, OfAnUplinkIsLessForReadsOfHostMemory) {
  Cluster cluster = ndr_cluster();
  const auto uplink = [&cluster](bool stages) {
    return capacity_sentence({"node0.sw0", "pcie_uplink", 0, {}, {}}, cluster, 1, stages);
  };
  EXPECT_THAT(uplink(false), Not(HasSubstr("host memory")));
  EXPECT_THAT(uplink(true), HasSubstr("Of reads of host memory, answered in pieces of 64 bytes, it "
                                      "can carry 23.3 GB/s."));
  cluster.node.pcie_settings.posted_header_credits = 32;
  EXPECT_THAT(uplink(true), HasSubstr("it can carry 10.2 GB/s, for want of PCIe credits."));
}

ResultRow of_two_parts(Duration first, Duration second) {
  ResultRow row;
  row.time = first + second;
  row.parts = {{"", "communication thread", first}, {"node0.nic0", "latency", second}};
  return row;
}

TEST(Explanation, OfAChangeThatSlowsDownTellsWhatGrew) {
  const ResultRow before = of_two_parts(18_us, 50_us);
  EXPECT_FALSE(grown_part(before, of_two_parts(19_us, 40_us)));
  EXPECT_FALSE(grown_part(before, before));
  Explanation explanation = sample_explanation();
  explanation.changes[0].grown = grown_part(before, of_two_parts(27_us, 45_us));
  ASSERT_TRUE(explanation.changes[0].grown);
  std::string text = explanation_text(explanation);
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  EXPECT_THAT(text, HasSubstr("\"communication thread, at work or at something else first\" grew "
                              "most: 27.0 us instead of 18.0 us. A thread does first what comes "
                              "first"));
  const Json json = explanation_json(explanation, {});
  EXPECT_EQ(json["what_ifs"][0]["grown"]["after_us"], 27.0);
  EXPECT_FALSE(json["what_ifs"][1].contains("grown"));
}

TEST(SpeedText, SaysFasterAndSlower) {
  EXPECT_EQ(speed_text(100_us, 50_us), "2.00 times as fast");
  EXPECT_EQ(speed_text(1000_us, 1004_us), "as fast as before");
  EXPECT_EQ(speed_text(100_us, 125_us), "slower by 25 %");
}

TEST(ShellWord, IsQuotedWhereItMustBe) {
  EXPECT_EQ(shell_word("cluster.network.link=800Gb/s"), "cluster.network.link=800Gb/s");
  EXPECT_EQ(shell_word("workload.size=[1MiB, 2MiB]"), "'workload.size=[1MiB, 2MiB]'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Wrapped, BreaksBetweenWordsAndKeepsUnits) {
  const std::string words(90, 'x');
  EXPECT_EQ(wrapped(words + " 12 GB/s more", "  "), "  " + words + "\n  12 GB/s more\n");
  EXPECT_EQ(wrapped(words + " ab cd", ""), words + " ab cd\n");
  EXPECT_EQ(wrapped("a b", "      ", "  1: "), "  1: a b\n");
  EXPECT_EQ(wrapped(std::string(200, 'y')), std::string(200, 'y') + "\n");
}

}  // namespace
}  // namespace gradhaul
