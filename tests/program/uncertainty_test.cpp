// gradhaul predict --uncertainty from end to end, against the closed form of a write over ideal
// links: n bytes arrive after latency + n / rate.

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

// 1 MB at 50 GB/s after 1 us: 21 us. At 25 GB/s 41 us, at 100 GB/s 11 us; after 4 us 24 us. The
// third has no range: half of nothing is nothing.
constexpr const char* kScenario =
    "scenario: uncertain\n"
    "workload: {collective: send_recv, size: 1MB}\n"
    "communication: {channels: 1, slot_size: 1MB}\n"
    "cluster:\n"
    "  nodes: 2\n"
    "  node: ideal\n"
    "  network:\n"
    "    {kind: ideal, link: 50GB/s, cables: {node: 0m, spine: 0m},\n"
    "     switch: {latency: 1us, vl_buffer: unlimited}, credit_return: 0ns,\n"
    "     estimates: {link: [25GB/s, 100GB/s], switch.latency: [1us, 4us], cables.spine: ~}}\n";

ProgramRun predict(const Arguments& more, const ProgramOptions& options = {}) {
  const std::string file = temporary_file("scenario.yaml");
  write_text(file, kScenario);
  Arguments arguments{"predict", file, "--uncertainty", "--progress", "off"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments, options);
}

Json row_of(const Arguments& more) {
  const std::string file = temporary_file("result.json");
  Arguments arguments{"--json", file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramRun run = predict(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return Json::parse(text_of(file))["rows"][0];
}

TEST(Uncertainty, IsTheRootOfTheSumOfSquares) {
  for (const char* fidelity : {"packet", "flow"}) {
    SCOPED_TRACE(fidelity);
    const Json row = row_of({"--set", std::string("simulation.fidelity=") + fidelity});
    EXPECT_NEAR(row["time_us"], 21, 1e-6);
    const Json& uncertainty = row["uncertainty"];
    EXPECT_NEAR(uncertainty["low_us"], 21 - 10, 1e-5);
    EXPECT_NEAR(uncertainty["high_us"], 21 + std::hypot(20, 3), 1e-5);
    EXPECT_EQ(uncertainty["tried"], 3);
    EXPECT_EQ(uncertainty["left_out"], 0);
    ASSERT_EQ(uncertainty["estimates"].size(), 2U);  // those that move the time
    const Json& most = uncertainty["estimates"][0];
    EXPECT_EQ(most["key"], "cluster.network.link");
    EXPECT_EQ(most["value"], "50GB/s");
    EXPECT_NEAR(most["time_at_low_us"], 41, 1e-5);
    EXPECT_NEAR(most["time_at_high_us"], 11, 1e-5);
    EXPECT_EQ(uncertainty["estimates"][1]["key"], "cluster.network.switch.latency");
  }
}

TEST(Uncertainty, LeavesAloneWhatTheUserSet) {
  const Json uncertainty = row_of({"--set", "cluster.network.link=50GB/s"})["uncertainty"];
  EXPECT_EQ(uncertainty["tried"], 2);
  EXPECT_NEAR(uncertainty["low_us"], 21, 1e-6);
  EXPECT_NEAR(uncertainty["high_us"], 24, 1e-6);
}

TEST(Uncertainty, WithoutARangeGoesFromHalfToTwice) {
  std::string scenario = kScenario;
  const std::string range = "[1us, 4us]";
  scenario.replace(scenario.find(range), range.size(), "~");
  const std::string file = temporary_file("halved.yaml");
  const std::string result = temporary_file("result.json");
  write_text(file, scenario);
  ASSERT_EQ(run_program({"predict", file, "--uncertainty", "--set", "cluster.network.link=50GB/s",
                         "--json", result})
                .status,
            0);
  const Json uncertainty = Json::parse(text_of(result))["rows"][0]["uncertainty"];
  EXPECT_NEAR(uncertainty["low_us"], 20.5, 1e-6);
  EXPECT_NEAR(uncertainty["high_us"], 22, 1e-6);
  EXPECT_EQ(uncertainty["estimates"][0]["assumed"], true);
}

TEST(Uncertainty, IsToldInWords) {
  const std::string out = predict({}).out;
  EXPECT_THAT(out, HasSubstr("# Uncertainty: 21.0 us, 11.0 us to 41.2 us; most: "
                             "cluster.network.link (-10.0 us to +20.0 us)\n"));
  EXPECT_THAT(out, HasSubstr("latency of a network switch: 1us (1us to 4us)\n"));
  const std::string two = predict({"--set", "workload.size=[1MB, 2MB]"}).out;
  EXPECT_THAT(two, HasSubstr("#       1 MB: 21.0 us, 11.0 us to "));
  // 2 MB in slices of 1 MB: 41 us, and twice the rate takes away 20.
  EXPECT_THAT(two, HasSubstr("#       2 MB: 41.0 us, 21.0 us to "));
}

TEST(Uncertainty, IsNotThereUnasked) {
  const std::string file = temporary_file("scenario.yaml");
  write_text(file, kScenario);
  EXPECT_THAT(run_program({"predict", file}).out, Not(HasSubstr("Uncertainty")));
}

// A training step of 3088 parameters on four nodes, whose one all_reduce follows its compute: six
// steps of a quarter of the gradients, each over an idle link.
constexpr const char* kStep =
    "scenario: uncertain-step\n"
    "workload:\n"
    "  training_step:\n"
    "    model: {layers: 1, hidden: 16, heads: 2, ffn: 32, vocabulary: 15}\n"
    "    sequence_length: 8\n"
    "    overlap: false\n"
    "    buckets: {first: 1GiB}\n"
    "communication: {channels: 1}\n"
    "cluster:\n"
    "  nodes: 4\n"
    "  node: ideal\n"
    "  network:\n"
    "    {kind: ideal, link: 50GB/s, cables: {node: 0m, spine: 0m},\n"
    "     switch: {latency: 1us, vl_buffer: unlimited}, credit_return: 0ns,\n"
    "     estimates: {link: [25GB/s, 100GB/s], switch.latency: [1us, 4us]}}\n";

TEST(Uncertainty, OfATrainingStepIsOfItsTime) {
  constexpr double kQuarter = 2 * 3088.0 / 4;
  for (const char* fidelity : {"packet", "flow", "analytic"}) {
    SCOPED_TRACE(fidelity);
    const std::string file = temporary_file("step.yaml");
    const std::string result = temporary_file("step.json");
    write_text(file, kStep);
    const ProgramRun run =
        run_program({"predict", file, "--uncertainty", "--json", result, "--progress", "off",
                     "--set", std::string("simulation.fidelity=") + fidelity, "--set",
                     "workload.training_step.efficiency=1", "--set",
                     "cluster.node.gpus.model.tensor_flops=1e12"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json all = Json::parse(text_of(result));
    const Json& step = all["training_step"];
    const double time = step["time_us"];
    const Json& uncertainty = step["uncertainty"];
    EXPECT_EQ(uncertainty["tried"], 2);
    EXPECT_NEAR(uncertainty["low_us"], time - 6 * kQuarter / 100e3, 1e-4);
    EXPECT_NEAR(uncertainty["high_us"], time + std::hypot(6 * kQuarter / 50e3, 6 * 3), 1e-4);
    ASSERT_EQ(uncertainty["estimates"].size(), 2U);
    EXPECT_EQ(uncertainty["estimates"][0]["key"], "cluster.network.switch.latency");
    EXPECT_THAT(run.out, HasSubstr("# Uncertainty of the step: "));
    EXPECT_THAT(run.out, HasSubstr("latency of a network switch: 1us (1us to 4us)\n"));
    // Of the message by itself, too.
    EXPECT_NEAR(all["rows"][0]["uncertainty"]["high_us"].get<double>() -
                    all["rows"][0]["time_us"].get<double>(),
                std::hypot(6 * kQuarter / 50e3, 6 * 3), 1e-4);
  }
}

// What compute takes is an estimate of its own: at 0.38 of the peak instead of 0.45 it is longer.
TEST(Uncertainty, OfATrainingStepKnowsOfCompute) {
  const std::string file = temporary_file("step.yaml");
  const std::string result = temporary_file("step.json");
  write_text(file, kStep);
  const ProgramRun run = run_program(
      {"predict", file, "--uncertainty", "--json", result, "--set", "simulation.fidelity=flow",
       "--set", "cluster.node.gpus.model.tensor_flops=1e9", "--set", "cluster.network.link=50GB/s",
       "--set", "cluster.network.switch.latency=1us"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json step = Json::parse(text_of(result))["training_step"];
  const double compute = step["stages"][0]["compute_us"];
  const Json& uncertainty = step["uncertainty"];
  EXPECT_EQ(uncertainty["tried"], 1);
  EXPECT_EQ(uncertainty["estimates"][0]["key"], "workload.training_step.efficiency");
  const double time = step["time_us"];
  EXPECT_NEAR(uncertainty["high_us"].get<double>() - time, compute * (0.45 / 0.38 - 1),
              1e-4 * compute);
  EXPECT_NEAR(time - uncertainty["low_us"].get<double>(), compute * (1 - 0.45 / 0.55),
              1e-4 * compute);
}

// Each job's row by itself: two pairs of nodes that share nothing.
TEST(Uncertainty, OfJobsIsOfEachOne) {
  const std::string file = temporary_file("jobs.yaml");
  const std::string result = temporary_file("jobs.json");
  std::string scenario = kScenario;
  scenario.replace(scenario.find("nodes: 2"), 8, "nodes: 4");
  write_text(file, scenario +
                       "jobs:\n"
                       "  - {name: first, ranks: 2}\n"
                       "  - {name: second, ranks: 2, workload: {size: 2MB}}\n");
  const ProgramRun run =
      run_program({"predict", file, "--uncertainty", "--json", result, "--progress", "off"});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json rows = Json::parse(text_of(result))["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NEAR(rows[0]["uncertainty"]["low_us"], 21 - 10, 1e-5);
  EXPECT_NEAR(rows[0]["uncertainty"]["high_us"], 21 + std::hypot(20, 3), 1e-5);
  EXPECT_NEAR(rows[1]["uncertainty"]["low_us"], 41 - 20, 1e-5);
  EXPECT_THAT(run.out, HasSubstr("#      first: 21.0 us, 11.0 us to 41.2 us; most: "));
}

}  // namespace
}  // namespace gradhaul
