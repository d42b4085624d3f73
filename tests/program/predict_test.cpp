// gradhaul predict from end to end: what it prints and writes, and how it ends.

#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Runs in an instant.
const std::vector<std::string> kQuick{"predict", "ideal-ring", "--set",
                                      "workload.size=[1KiB, 1MiB]"};

std::vector<std::string> quick(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kQuick;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST(Predict, PrintsATableAndNothingElse) {
  const ProgramRun run = run_program(kQuick);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("scenario ideal-ring, cluster 32 x ideal over ideal (32 ranks)"));
  EXPECT_THAT(run.out, HasSubstr("# Avg bus bandwidth"));
  EXPECT_THAT(run.out, HasSubstr("     1048576        262144     float     sum"));
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Predict, WritesResultFiles) {
  const std::string json = temporary_file("result.json");
  const std::string csv = temporary_file("result.csv");
  const ProgramRun run = run_program(quick({"--json", json, "--csv", csv, "--progress", "off"}));
  EXPECT_EQ(run.status, 0) << run.err;
  const auto result = nlohmann::json::parse(text_of(json));
  EXPECT_EQ(result["schema"], "gradhaul.result/1");
  EXPECT_EQ(result["kind"], "predicted");
  EXPECT_EQ(result["scenario"]["name"], "ideal-ring");
  EXPECT_EQ(result["scenario"]["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(result["scenario"]["effective"]["communication"]["slots"], 8);
  EXPECT_EQ(result["scenario"]["effective"]["workload"]["size"][1], "1MiB");
  ASSERT_EQ(result["rows"].size(), 2U);
  EXPECT_EQ(result["rows"][1]["size_bytes"], 1048576);
  // 2 (N - 1) steps, each a chunk of 32 KiB over an idle link of 50 GB/s and 1 us.
  EXPECT_NEAR(result["rows"][1]["time_us"].get<double>(), 62 * (1 + 32768 / 50e3), 0.01);
  std::istringstream lines(text_of(csv));
  int count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  EXPECT_EQ(count, 3);
}

// The small message takes 62 us, the large one 102 us.
TEST(Predict, KeepsItsRowsWhereAQueuePairGivesUp) {
  const std::string json = temporary_file("failed.json");
  const ProgramRun run = run_program(
      quick({"--json", json, "--set", "cluster.faults=[{link: node3.nic0, down: {at: 80us}}]",
             "--set", "communication.timeout=4", "--set", "communication.retry=1"}));
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("the run failed: transport retry counter exceeded: queue pair 0 "
                                 "of channel 0 from rank "));
  EXPECT_THAT(run.err, HasSubstr("gradhaul: 1 of 2 sizes are finished and kept\n"));
  const auto result = nlohmann::json::parse(text_of(json));
  EXPECT_EQ(result["rows"].size(), 1U);
  EXPECT_THAT(result["failures"].at(0).get<std::string>(),
              HasSubstr("the last packet was lost on node3.nic0"));
}

TEST(Predict, IsTheSameEachTime) {
  const auto digest = [](const std::string& out) { return out.substr(out.find("# Digest"), 26); };
  EXPECT_EQ(digest(run_program(kQuick).out), digest(run_program(kQuick).out));
}

// Skipping what recurs changes what it costs, and nothing else.
TEST(Predict, SaysTheSameWithoutSkipping) {
  const std::string skipping = temporary_file("skipping.json");
  const std::string full = temporary_file("full.json");
  const std::vector<std::string> ring{"predict", "ideal-ring",
                                      "--set",   "workload.size=4MiB",
                                      "--set",   "communication.slot_size=8KiB"};
  const auto result_of = [&](const std::string& file, std::vector<std::string> more) {
    more.insert(more.begin(), ring.begin(), ring.end());
    more.insert(more.end(), {"--json", file});
    const ProgramRun run = run_program(more);
    EXPECT_EQ(run.status, 0) << run.err;
    return nlohmann::json::parse(text_of(file));
  };
  auto with = result_of(skipping, {});
  auto without = result_of(full, {"--no-skip"});
  EXPECT_GT(with["cost"]["skipped_packet_hops"].get<std::int64_t>(), 0);
  EXPECT_EQ(without["cost"]["skipped_packet_hops"], 0);
  EXPECT_EQ(with["cost"]["packet_hops"].get<std::int64_t>() +
                with["cost"]["skipped_packet_hops"].get<std::int64_t>(),
            without["cost"]["packet_hops"].get<std::int64_t>());
  with.erase("cost");
  without.erase("cost");
  EXPECT_EQ(with, without);
}

// So does stepping by events, where stations would do.
TEST(Predict, SaysTheSameByEvents) {
  const auto result_of = [](const char* name, std::vector<std::string> more) {
    const std::string file = temporary_file(name);
    more.insert(more.end(), {"--json", file});
    const ProgramRun run = run_program(quick(more));
    EXPECT_EQ(run.status, 0) << run.err;
    nlohmann::json result = nlohmann::json::parse(text_of(file));
    result.erase("cost");
    return result;
  };
  EXPECT_EQ(result_of("stations.json", {}), result_of("events.json", {"--by-events"}));
}

TEST(Predict, AnswersAnalyticallyToo) {
  const ProgramRun run = run_program(quick({"--set", "simulation.fidelity=analytic"}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("fidelity analytic"));
}

TEST(Predict, FindsUnwritableFilesBeforeItRuns) {
  // Hours of work, if it began.
  const ProgramRun run = run_program({"predict", "7b-32gpu", "--set", "workload.size=1TiB",
                                      "--json", "/no/such/folder/result.json"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr("/no/such/folder/result.json"));
  const ProgramRun twice = run_program(quick({"--json", "x", "--csv", "x"}));
  EXPECT_EQ(twice.status, 2);
  EXPECT_FALSE(fs::exists("x"));
}

TEST(Predict, ReportsWhatIsWrongWithTheScenario) {
  const ProgramRun run = run_program(quick({"--set", "cluster.nodes=1"}));
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--set cluster.nodes=1: one rank alone"));
  EXPECT_THAT(run.out, IsEmpty());
}

TEST(Predict, HoldsResultsAgainstExpectations) {
  EXPECT_EQ(run_program(quick({"--set", "expect.busbw=>=1MB/s"})).status, 0);
  EXPECT_EQ(run_program(quick({"--set", "expect.time=<1s"})).status, 0);
  const ProgramRun slow = run_program(quick({"--set", "expect.busbw=>=340GB/s"}));
  EXPECT_EQ(slow.status, 3);
  EXPECT_THAT(slow.err, HasSubstr("busbw"));
  EXPECT_THAT(slow.out, HasSubstr("# Avg bus bandwidth"));
  EXPECT_EQ(run_program(quick({"--set", "expect.limited_by=slots"})).status, 3);
}

TEST(Predict, ShowsProgressOnRequest) {
  const ProgramRun run = run_program(quick({"--progress", "on"}));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("%"));
}

// The first size takes an instant, the second longer than anybody waits.
TEST(Predict, KeepsWhatIsFinishedWhenInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string json = temporary_file("result.json");
    const ProgramRun run =
        run_program({"predict", "7b-32gpu", "--set", "workload.size=[64KiB, 200GB]", "--json", json,
                     "--progress", "on"},
                    {.signal = signal, .once_said = "200GB"});
    EXPECT_EQ(run.status, 4) << run.err;
    EXPECT_THAT(run.err, HasSubstr("sizes are finished and kept"));
    EXPECT_THAT(run.out, HasSubstr("       65536 "));
    const auto result = nlohmann::json::parse(text_of(json));
    EXPECT_EQ(result["rows"].size(), 1U);
    fs::remove(json);
  }
}

TEST(Predict, IsInterruptedBeforeAnythingIsFinished) {
  const std::string json = temporary_file("result.json");
  const ProgramRun run = run_program(
      {"predict", "7b-32gpu", "--set", "workload.size=200GB", "--json", json, "--progress", "on"},
      {.signal = SIGINT, .once_said = "%"});
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_TRUE(nlohmann::json::parse(text_of(json))["rows"].empty());
}

TEST(Predict, LeavesNoTemporaryFileBehind) {
  const fs::path folder = temporary_file("folder");
  fs::create_directory(folder);
  EXPECT_EQ(run_program(quick({"--json", (folder / "a.json").string()})).status, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
  fs::remove_all(folder);
}

TEST(Predict, CannotWriteToAFullDevice) {
  const ProgramRun run = run_program(kQuick, {.out = "/dev/full"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("standard output could not be written"));
}

}  // namespace
}  // namespace gradhaul
