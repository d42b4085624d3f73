// gradhaul doctor between hosts.

#include <filesystem>

#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;

// A host of which nothing can be seen, and four ranks beside a wire of that rate.
ProgramRun doctor(const std::string& rate, const std::vector<std::string>& options) {
  const std::string host = temporary_file("host");
  std::filesystem::create_directories(host + "/sys");
  std::filesystem::create_directories(host + "/proc");
  std::vector<std::string> arguments{"doctor",
                                     "ideal-ring",
                                     "--sysfs=" + host,
                                     "--set=workload.size=64KiB",
                                     "--set=cluster.network.switch.latency=0ns",
                                     "--set=cluster.network.link=" + rate};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_program(arguments);
}

// 16 KiB by 1 Mb/s take 131 ms, and rings of 64 KiB at least twice as long as half of that.
TEST(DoctorBetweenHosts, PassesWhereItIsAsFastAsPredicted) {
  const std::string json_file = temporary_file("check.json");
  const ProgramRun run = doctor(
      "1Mb/s", {"--backend=tcp", "--ranks=4", "--tolerance=100%", "--ranks-json", json_file});
  EXPECT_EQ(run.status, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("12 of 12 pairs pass"));
  const auto json = nlohmann::json::parse(text_of(json_file));
  EXPECT_EQ(json["pass"], true);
  ASSERT_EQ(json["rings"].size(), 2U);
  EXPECT_EQ(json["rings"][0]["nodes"], 2);
  EXPECT_EQ(json["rings"][1]["nodes"], 4);
}

// Nobody writes 16 KiB in 1.3 ns.
TEST(DoctorBetweenHosts, FailsWhereItIsSlower) {
  const ProgramRun run = doctor("100000Gb/s", {"--backend=loopback", "--ranks=4"});
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_THAT(run.out, HasSubstr("0 of 12 pairs pass"));
  EXPECT_THAT(run.out, HasSubstr("FAIL"));
}

TEST(DoctorBetweenHosts, TakesABackendAndAScenario) {
  const ProgramRun backend = run_program({"doctor", "ideal-ring"});
  EXPECT_EQ(backend.status, 2);
  EXPECT_THAT(backend.err, HasSubstr("takes --backend too"));
  const ProgramRun tree =
      doctor("1Mb/s", {"--backend=loopback", "--ranks=4", "--set=communication.algorithm=tree"});
  EXPECT_EQ(tree.status, 2);
  EXPECT_THAT(tree.err, HasSubstr("communication.algorithm=ring"));
}

}  // namespace
}  // namespace gradhaul
