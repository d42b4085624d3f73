// Plans that are chosen, and NCCL's tuner, from end to end.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/program/measure_runs.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;
using testing::Not;

nlohmann::json predicted(std::vector<std::string> arguments, std::string* out = nullptr) {
  const std::string json = temporary_file("predicted.json");
  arguments.insert(arguments.begin(), "predict");
  arguments.insert(arguments.end(), {"--json", json});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  if (out != nullptr) *out = run.out;
  return run.status == 0 ? nlohmann::json::parse(text_of(json)) : nlohmann::json{};
}

// The cluster of NCCL issue 1453, and what NCCL logged there.
TEST(NcclTunerProgram, GivesWhatNcclLogged) {
  const std::vector<std::string> issue{"7b-32gpu",
                                       "--set=cluster.nodes=3",
                                       "--set=cluster.node.nics.model.rate=200Gb/s",
                                       "--set=cluster.network.link=200Gb/s",
                                       "--set=simulation.fidelity=nccl-tuner",
                                       "--set=communication.profile=nccl-2.22"};
  std::vector<std::string> small = issue;
  small.emplace_back("--set=workload.size=128B");
  small.emplace_back("--set=communication.algorithm=auto");
  std::string out;
  const auto tree = predicted(small, &out);
  EXPECT_EQ(tree["rows"][0]["algorithm"], "double_binary_tree");
  EXPECT_EQ(tree["rows"][0]["protocol"], "ll");
  EXPECT_NEAR(tree["rows"][0]["time_us"].get<double>(), 25.214764, 1e-6);
  EXPECT_GE(tree["rows"][0]["weighed"].size(), 6U);
  EXPECT_THAT(out, HasSubstr("profile nccl-2.22"));
  EXPECT_THAT(out, HasSubstr("plan (channels)"));
  EXPECT_THAT(out, HasSubstr("NCCL 2.22 estimates this"));
  std::vector<std::string> large = issue;
  large.emplace_back("--set=workload.size=8GiB");
  large.emplace_back("--set=communication.algorithm=ring");
  const auto ring = predicted(large);
  EXPECT_EQ(ring["rows"][0]["protocol"], "simple");
  EXPECT_NEAR(ring["rows"][0]["time_us"].get<double>(), 86069.96875, 0.01);
}

TEST(AutoProgram, ShowsWhatItTookBesideWhatNcclWould) {
  std::string out;
  const auto result =
      predicted({"7b-32gpu", "--set=workload.size=[8B, 1GiB]", "--set=communication.algorithm=auto",
                 "--set=communication.protocol=auto", "--set=simulation.fidelity=analytic"},
                &out);
  ASSERT_EQ(result["rows"].size(), 2U);
  for (const auto& row : result["rows"]) {
    EXPECT_GE(row["weighed"].size(), 6U);
    EXPECT_EQ(row["weighed"][0]["algorithm"], row["algorithm"]);
    EXPECT_EQ(row["nccl"]["version"], "2.30");
  }
  EXPECT_NE(result["rows"][0]["protocol"], "simple");
  EXPECT_EQ(result["rows"][1]["protocol"], "simple");
  EXPECT_THAT(out, HasSubstr("NCCL 2.30 would take, expecting"));
  EXPECT_THAT(out, HasSubstr("chosen by closed-form estimates: "));
}

TEST(AutoProgram, HasNothingToShowWhereNothingIsChosen) {
  std::string out;
  const auto result = predicted({"ideal-ring", "--set=workload.size=1KiB"}, &out);
  EXPECT_FALSE(result["rows"][0].contains("weighed"));
  EXPECT_FALSE(result["rows"][0].contains("nccl"));
  EXPECT_THAT(out, Not(HasSubstr("plan (channels)")));
}

TEST(AutoProgram, MeasuresWhatItPredicted) {
  for (const char* backend : {"loopback", "tcp"}) {
    const auto result =
        measured(backend, 4, {"communication.algorithm=auto", "workload.size=[1KiB, 8MiB]"});
    ASSERT_EQ(result["rows"].size(), 4U);
    for (const auto& row : result["rows"]) {
      EXPECT_EQ(row["wrong"], 0);
      ASSERT_GE(row["weighed"].size(), 2U);
      EXPECT_EQ(row["weighed"][0]["algorithm"], row["algorithm"]);
    }
  }
}

TEST(ProtocolProgram, IsPredictedAndNotMeasured) {
  for (const char* protocol : {"ll", "ll128", "auto"}) {
    const ProgramRun run = run_program(
        measure("loopback", {std::string("communication.protocol=") + protocol}, {"--ranks=2"}));
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr("kernels that poll flags"));
  }
}

}  // namespace
}  // namespace gradhaul
