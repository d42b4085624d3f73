// predict --trace from end to end: a file that a viewer of traces opens, with every slice of the
// run, and what it says where it lacks something.

#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Four nodes, two of which share each uplink of their leaf, over RoCE that pauses.
const std::vector<std::string> kSmall{
    "predict",
    "ideal-ring",
    "--progress",
    "off",
    "--set",
    "workload.size=2MiB",
    "--set",
    "cluster.nodes=4",
    "--set",
    "cluster.node=flat-h100",
    "--set",
    "cluster.network={name: tight, kind: roce, link: 100Gb/s, routing: ecmp, topology: {kind: "
    "leaf_spine, switch_ports: 3}, oversubscription: 2, flow_control: {kind: pfc, xoff: 60kB}}",
    "--set",
    "communication.channels=2",
    "--set",
    "communication.slot_size=64KiB",
    "--set",
    "communication.slots=2",
    "--set",
    "communication.ring_order=[0,2,1,3]"};

std::vector<std::string> small(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = kSmall;
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json trace_of(const std::string& file) { return json::parse(text_of(file)); }

std::string digest_of(const std::string& out) { return out.substr(out.find("# Digest"), 25); }

std::map<std::string, int> count_by_category(const json& trace) {
  std::map<std::string, int> counts;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++counts[event["cat"].get<std::string>()];
  }
  return counts;
}

TEST(Trace, HoldsEverySliceAndChangesNothing) {
  const std::string file = temporary_file("trace.json");
  const ProgramRun traced = run_program(small({"--trace", file}));
  ASSERT_EQ(traced.status, 0) << traced.err;
  EXPECT_THAT(traced.err, HasSubstr("open it in https://ui.perfetto.dev"));
  const ProgramRun plain = run_program(kSmall);
  EXPECT_EQ(digest_of(traced.out), digest_of(plain.out));
  const json trace = trace_of(file);
  EXPECT_THAT(plain.out, HasSubstr(trace["otherData"]["digest"].get<std::string>()));
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  EXPECT_THAT(trace["otherData"]["left_out"], IsEmpty());
  // A channel has a MiB: four chunks of four slices; each of four ranks sends 2 (4 - 1) chunks.
  constexpr int kSlices = 2 * 4 * 6 * 4;
  std::map<std::string, int> counts = count_by_category(trace);
  EXPECT_EQ(counts["send"], kSlices);
  EXPECT_EQ(counts["flight"], kSlices);
  EXPECT_EQ(counts["receive"], kSlices);
  EXPECT_EQ(counts["reduce"], kSlices / 2);
  EXPECT_EQ(counts["copy"], kSlices / 2);
  EXPECT_GT(counts["slot"], 0) << "two slots are few";
  EXPECT_EQ(counts["row"], 1);
}

// A viewer shows slices of a thread as nested, or cuts them off, where they overlap.
TEST(Trace, ThreadsHaveNoOverlapsAndArrowsBeginAndEndInSlices) {
  const std::string file = temporary_file("trace.json");
  ASSERT_EQ(run_program(small({"--trace", file})).status, 0);
  const json trace = trace_of(file);
  std::map<std::pair<int, int>, std::map<double, double>> threads;
  std::map<int, int> process_of_thread;
  std::set<int> named;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") named.insert(event["tid"].get<int>());
    if (event["ph"] != "X") continue;
    const int pid = event["pid"];
    const int tid = event["tid"];
    EXPECT_EQ(process_of_thread.try_emplace(tid, pid).first->second, pid);
    EXPECT_TRUE(named.count(tid) > 0);
    const double start = event["ts"];
    auto& slices = threads[std::pair(pid, tid)];
    EXPECT_TRUE(slices.emplace(start, start + event["dur"].get<double>()).second);
  }
  for (const auto& [thread, slices] : threads) {
    double last = 0;
    for (const auto& [start, end] : slices) {
      EXPECT_GE(start, last - 1e-7);
      last = end;
    }
  }
  int arrows = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    ++arrows;
    EXPECT_EQ((threads[{event["pid"], event["tid"]}].count(event["ts"].get<double>())), 1U);
  }
  EXPECT_EQ(arrows, 2 * 192);
}

// What the counters of the result say, the series of the trace add up to.
TEST(Trace, PausesAddUpToTheCounters) {
  const std::string file = temporary_file("trace.json");
  const std::string result_file = temporary_file("result.json");
  ASSERT_EQ(run_program(small({"--trace", file, "--json", result_file})).status, 0);
  const json trace = trace_of(file);
  const json result = json::parse(text_of(result_file));
  const double bin = trace["otherData"]["rows"][0]["bin_us"];
  const double end = trace["otherData"]["rows"][0]["time_us"];
  std::map<std::string, std::pair<double, double>> last;  // since when, percent
  double paused = 0;
  std::set<std::string> kinds;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    const std::string name = event["name"];
    kinds.insert(name.substr(name.find(' ') + 1));
    if (name.find(" paused") == std::string::npos) continue;
    auto& [since, percent] = last[name];
    paused += (event["ts"].get<double>() - since) * percent / 100;
    since = event["ts"];
    percent = event["args"]["percent"];
  }
  double counted = 0;
  for (const json& port : result["counters"]) counted += port["pfc_paused_us"].get<double>();
  EXPECT_GT(counted, 0);
  // Percents have two digits; the last bin may be shorter than it says.
  EXPECT_NEAR(paused, counted, counted * 0.01 + bin);
  EXPECT_LT(bin, end / 100);
  EXPECT_EQ(kinds.count("queue"), 1U);
  EXPECT_EQ(kinds.count("paused"), 1U);
}

TEST(Trace, SaysWhatItLeftOut) {
  const std::string file = temporary_file("trace.json");
  const ProgramRun run = run_program(small({"--trace", file, "--trace-limit", "1000"}));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("transfers and reductions are left out"));
  EXPECT_THAT(run.err, HasSubstr("--trace-limit allows more"));
  const json trace = trace_of(file);
  ASSERT_EQ(trace["otherData"]["left_out"].size(), 1U);
  EXPECT_THAT(trace["otherData"]["left_out"][0].get<std::string>(), HasSubstr("links are shown"));
}

TEST(Trace, IsNarrowedAsAsked) {
  const std::string file = temporary_file("trace.json");
  const ProgramRun run =
      run_program(small({"--trace", file, "--trace-ranks", "0,2..3", "--trace-window", "..50us",
                         "--trace-links", "node1.nic0"}));
  ASSERT_EQ(run.status, 0) << run.err;
  std::set<int> ranks;
  std::set<std::string> links;
  std::map<std::string, double> starts;  // the first stage of each
  const json trace = trace_of(file);
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["cat"] == "row") continue;
    const json& args = event["args"];
    // A slice that is on its way then is shown with all its stages, of which a receiver may have
    // the last alone.
    if (event["cat"] == "receive") continue;
    const std::string what =
        args.contains("sequence") && event["cat"] != "reduce" && event["cat"] != "copy"
            ? args["connection"].get<std::string>() + args["sequence"].dump()
            : std::to_string(starts.size());
    const double start = event["ts"];
    const auto [place, first] = starts.try_emplace(what, start);
    place->second = std::min(place->second, start);
    if (event["cat"] == "busy") {
      links.insert(event["args"]["link"]);
    } else {
      ranks.insert(event["pid"].get<int>() - 1000);
    }
  }
  for (const auto& [what, start] : starts) EXPECT_LT(start, 50.0) << what;
  EXPECT_EQ(ranks, (std::set<int>{0, 2, 3}));
  EXPECT_THAT(links, testing::Each(testing::StartsWith("node1.nic0")));
  EXPECT_THAT(links, Not(IsEmpty()));
}

TEST(Trace, RefusesWhatCannotBe) {
  const std::string file = temporary_file("trace.json");
  const auto error_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = small({"--trace", file});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.out, IsEmpty());
    return run.err;
  };
  EXPECT_THAT(error_of({"--set", "simulation.fidelity=flow"}), HasSubstr("fidelity=packet"));
  EXPECT_THAT(error_of({"--trace-ranks", "4"}), HasSubstr("there are 0 to 3"));
  EXPECT_THAT(error_of({"--trace-window", "5us"}), HasSubstr("a window has two ends"));
  EXPECT_THAT(error_of({"--trace-window", "5us..1us"}), HasSubstr("ends after it begins"));
  EXPECT_THAT(error_of({"--trace-window", "5..9us"}), HasSubstr("has no unit"));
  EXPECT_THAT(error_of({"--trace-links", "node0.nci0.out"}),
              HasSubstr("did you mean \"node0.nic0.out\"?"));
  EXPECT_THAT(error_of({"--json", file}), HasSubstr("cannot both write it"));
  const ProgramRun alone = run_program(small({"--trace-ranks", "0"}));
  EXPECT_EQ(alone.status, 2);
  EXPECT_FALSE(std::filesystem::exists(file));
}

// Sizes lie one behind the other.
TEST(Trace, HoldsEverySize) {
  const std::string file = temporary_file("trace.json");
  ASSERT_EQ(run_program(small({"--trace", file, "--set", "workload.size=[64KiB, 128KiB]"})).status,
            0);
  const json trace = trace_of(file);
  const json& rows = trace["otherData"]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_DOUBLE_EQ(rows[1]["start_us"].get<double>(), rows[0]["time_us"].get<double>());
  std::set<double> starts;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "send") starts.insert(event["ts"].get<double>());
  }
  EXPECT_LT(*starts.begin(), rows[1]["start_us"].get<double>());
  EXPECT_GT(*starts.rbegin(), rows[1]["start_us"].get<double>());
}

TEST(Trace, IsKeptWhenInterrupted) {
  const std::string file = temporary_file("trace.json");
  const ProgramRun run =
      run_program({"predict", "7b-32gpu-flat", "--trace", file, "--progress", "on"},
                  {.out = {}, .signal = SIGINT, .once_said = "%"});
  EXPECT_EQ(run.status, 4) << run.err;
  const json trace = trace_of(file);
  EXPECT_EQ(trace["otherData"]["rows"][0]["finished"], false);
  EXPECT_EQ(trace["otherData"]["digest"], "");
}

}  // namespace
}  // namespace gradhaul
