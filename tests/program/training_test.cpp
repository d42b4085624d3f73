// gradhaul predict of a whole training step, from end to end.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

using Json = nlohmann::json;

// A model of 3072 parameters and its gradients in one bucket, on four nodes of which nothing costs
// anything but links, and GPUs of 1 TFLOP/s: a norm, four 16 x 16 matrices, a norm, three 16 x 32,
// a norm, and twice 12 words of 16.
constexpr const char* kSmallStep =
    "scenario: small-step\n"
    "workload:\n"
    "  training_step:\n"
    "    model: {layers: 1, hidden: 16, heads: 2, ffn: 32, vocabulary: 15}\n"
    "    sequence_length: 8\n"
    "    efficiency: 1\n"
    "cluster:\n"
    "  nodes: 4\n"
    "  node: ideal\n"
    "  network: ideal\n"
    "communication: {channels: 1}\n";

constexpr std::int64_t kParameters = 3 * 16 + 4 * 256 + 3 * 512 + 2 * 15 * 16;

Json step_of(const std::string& fidelity, std::vector<std::string> settings) {
  const std::string scenario = temporary_file("step.yaml");
  const std::string json = temporary_file("step.json");
  write_text(scenario, kSmallStep);
  std::vector<std::string> arguments{"predict", scenario, "--json", json};
  settings.push_back("simulation.fidelity=" + fidelity);
  settings.push_back("cluster.node.gpus.model.tensor_flops=1e12");
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# Training step of custom (3088 parameters) on 4 GPUs"));
  const Json result = Json::parse(text_of(json));
  return result["training_step"];
}

// 6 operations a parameter and token but for the embedding and the norms, 12 h s more for
// attention.
double compute_us() {
  const double matrices = kParameters - 3 * 16 - 15 * 16;
  return 8 * (6 * matrices + 12 * 16 * 8) / 1e6;
}

// A ring of four, one channel: six steps of a quarter, each over an idle link of 50 GB/s and 1 us.
double all_reduce_us(double bytes) { return 6 * (1 + bytes / 4 / 50e3); }

// One thing at a time, and so exact in all fidelities: compute, then the all_reduce of one bucket.
TEST(TrainingStep, WithOneBucketAndNoOverlapIsComputeAndAllReduce) {
  for (const char* fidelity : {"analytic", "flow", "packet"}) {
    SCOPED_TRACE(fidelity);
    const Json step = step_of(fidelity, {"workload.training_step.overlap=false",
                                         "workload.training_step.buckets.first=1GiB"});
    const double reduce = all_reduce_us(2 * kParameters);
    EXPECT_NEAR(step["time_us"].get<double>(), compute_us() + reduce, 1e-3);
    EXPECT_NEAR(step["stages"][0]["exposed_us"].get<double>(), reduce, 1e-3);
    EXPECT_NEAR(step["stages"][0]["compute_us"].get<double>(), compute_us(), 1e-3);
    ASSERT_EQ(step["buckets"].size(), 1U);
    EXPECT_EQ(step["buckets"][0]["size_bytes"], 2 * kParameters);
  }
}

// Each tensor a bucket: they follow each other, and no two all_reduces are under way together.
TEST(TrainingStep, TellsWhenEachBucketIsReadyAndReduced) {
  for (const char* fidelity : {"flow", "packet"}) {
    SCOPED_TRACE(fidelity);
    const Json step = step_of(fidelity, {"workload.training_step.buckets={size: 2B, first: 2B}"});
    ASSERT_EQ(step["buckets"].size(), 12U);
    double before = 0;
    double reduces = 0;
    for (const Json& bucket : step["buckets"]) {
      const double start = bucket["start_us"].get<double>();
      EXPECT_NEAR(start, std::max(before, bucket["ready_us"].get<double>()), 1e-3);
      before = bucket["end_us"].get<double>();
      const double expected = all_reduce_us(bucket["size_bytes"].get<double>());
      EXPECT_NEAR(before - start, expected, 1e-3);
      reduces += expected;
    }
    EXPECT_NEAR(step["stages"][0]["communicating_us"].get<double>(), reduces, 0.02);
    EXPECT_NEAR(step["time_us"].get<double>(), before, 1e-3);
  }
}

// A time line: what is computed does not overlap, and ends as the step's compute and waiting do.
TEST(TrainingStep, HasATimeLine) {
  const Json step = step_of("flow", {"workload.training_step.sharding=zero3",
                                     "workload.training_step.buckets={size: 2kB, first: 2B}"});
  double computed = 0;
  double last = 0;
  bool gathered = false;
  for (const Json& interval : step["timeline"]) {
    EXPECT_EQ(interval["rank"], 0);
    const double end = interval["end_us"].get<double>();
    if (interval["lane"] == "communication") {
      gathered = gathered || interval["name"] == "all_gather parameters 0";
      continue;
    }
    EXPECT_GE(interval["start_us"].get<double>(), last - 1e-6);
    last = end;
    computed += end - interval["start_us"].get<double>();
  }
  EXPECT_TRUE(gathered);
  EXPECT_NEAR(computed, compute_us(), 1e-3);
}

// Points of a sweep are whole steps: each is what predict says of it.
TEST(TrainingStep, CanBeSwept) {
  const std::string scenario = temporary_file("swept.yaml");
  const std::string json = temporary_file("swept.json");
  const std::string csv = temporary_file("swept.csv");
  write_text(scenario, kSmallStep);
  const ProgramRun run = run_program(
      {"sweep", scenario, "--json", json, "--csv", csv, "--set", "simulation.fidelity=analytic",
       "--set", "cluster.node.gpus.model.tensor_flops=1e12", "--set",
       "workload.training_step.overlap=false", "--set", "workload.training_step.buckets.first=1GiB",
       "--vary", "workload.training_step.sequence_length=8,16"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("tokens/s  of peak       exposed  communicating"));
  EXPECT_THAT(run.out, HasSubstr("# Shortest step: "));
  const Json points = Json::parse(text_of(json))["points"];
  ASSERT_EQ(points.size(), 2U);
  const double expected = compute_us() + all_reduce_us(2 * kParameters);
  EXPECT_NEAR(points[0]["result"]["training_step"]["time_us"].get<double>(), expected, 1e-3);
  EXPECT_GT(points[1]["result"]["training_step"]["time_us"].get<double>(), expected);
  EXPECT_THAT(text_of(csv), HasSubstr("sequence_length,step_time_us,item,items_per_s"));
  EXPECT_THAT(text_of(csv), HasSubstr("communicating_us,profile\n"));
  EXPECT_THAT(text_of(csv), EndsWith(",gradhaul\n"));
  const ProgramRun page = run_program({"report", "--no-pictures", json});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("the shortest step, "));
}

TEST(TrainingStep, IsDrawnAsATimeLine) {
  const std::string scenario = temporary_file("drawn.yaml");
  const std::string picture = temporary_file("drawn.svg");
  write_text(scenario, kSmallStep);
  const ProgramRun run =
      run_program({"predict", scenario, "--plot", picture, "--set", "simulation.fidelity=analytic",
                   "--set", "cluster.node.gpus.model.tensor_flops=1e12"});
  if (run.err.find("matplotlib") != std::string::npos) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(text_of(picture), HasSubstr("</svg>"));
}

// Two data-parallel groups whose ranks sit beside each other have one NIC between them: it carries
// both groups' gradients, once out and once in (2 (n - 1) / n = 1 for two nodes), at no more than
// 50 GB/s; each by itself would take half of that.
TEST(TrainingStep, ShowsWhatGroupsThatShareANicCostEachOther) {
  const std::string scenario = temporary_file("shared.yaml");
  write_text(scenario,
             "workload:\n"
             "  training_step:\n"
             "    model: {layers: 1, hidden: 1024, heads: 8, ffn: 4096, vocabulary: 1000}\n"
             "    parallel: {tensor: 2}\n"
             "    overlap: false\n"
             "    buckets: {first: 1GiB}\n"
             // Else NCCL would stage the GPU that is farther from the NIC, and slow one of the two.
             "communication: {gpudirect: on}\n"
             "cluster: {nodes: 2, ranks_per_node: 2, node: hgx-h100-one-nic, network: ndr}\n");
  const double parameters = (4.0 * 1024 * 1024 + 3.0 * 1024 * 4096 + 2.0 * 1000 * 1024) / 2 + 3072;
  const double both_us = 2 * 2 * parameters / 50e3;
  for (const char* fidelity : {"flow", "packet"}) {
    SCOPED_TRACE(fidelity);
    const std::string json = temporary_file("shared.json");
    const ProgramRun run = run_program({"predict", scenario, "--json", json, "--set",
                                        std::string("simulation.fidelity=") + fidelity});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json stage = Json::parse(text_of(json))["training_step"]["stages"][0];
    const double exposed = stage["exposed_by_group_us"]["data"].get<double>();
    EXPECT_GT(exposed, both_us);
    // Flows share the wire at once and evenly; packets of one wait for those of the other.
    EXPECT_LT(exposed, both_us * (fidelity == std::string("flow") ? 1.15 : 1.5));
  }
}

TEST(TrainingStep, IsExplainedByItsLargestBucket) {
  const std::string scenario = temporary_file("step.yaml");
  write_text(scenario, kSmallStep);
  const ProgramRun run = run_program(
      {"explain", scenario, "--top", "0", "--set", "workload.training_step.buckets.size=1MiB"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the collective of its largest bucket is explained"));
  const ProgramRun groups =
      run_program({"explain", scenario, "--set", "workload.training_step.parallel.pipeline=1",
                   "--set", "workload.training_step.parallel.tensor=2", "--set",
                   "workload.training_step.model.vocabulary=16"});
  EXPECT_EQ(groups.status, 2);
  EXPECT_THAT(groups.err, HasSubstr("groups of them communicate"));
}

// A queue pair gives up on the way: the messages before have rows, the step has no time.
TEST(TrainingStep, KeepsTheMessagesThatWereFinishedWhereARetryRunsOut) {
  const ProgramRun run =
      run_program({"predict", "dlrm-step", "--set", "simulation.fidelity=packet", "--set",
                   "cluster.faults=[{link: node1.nic0, down: {at: 1ms}}]", "--set",
                   "communication.timeout=8", "--set", "communication.retry=1"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("transport retry counter exceeded: queue pair "));
  EXPECT_THAT(run.out, HasSubstr("    27262976        212992     float"));
  EXPECT_THAT(run.out, HasSubstr("# The messages above were finished, the step was not."));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("# Training step of")));
}

TEST(TrainingStep, IsNotMeasured) {
  const ProgramRun run = run_program({"measure", "7b-step", "--backend", "loopback"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("a training step is predicted only"));
  EXPECT_THAT(run.out, IsEmpty());
}

}  // namespace
}  // namespace gradhaul
