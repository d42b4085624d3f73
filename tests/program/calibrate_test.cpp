// gradhaul calibrate.

#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Calibrated {
  ProgramRun run;
  nlohmann::json json;
  std::string nic;
  std::string scenario;
};

Calibrated calibrate(const std::string& backend) {
  Calibrated calibrated;
  const std::string json = temporary_file("calibration.json");
  calibrated.nic = temporary_file("my-nic.yaml");
  calibrated.scenario = temporary_file("calibrated.yaml");
  calibrated.run = run_program({"calibrate", "--backend", backend, "--sizes=8B,64KiB",
                                "--depths=1,4", "--iterations=5", "--write", calibrated.nic,
                                "--write-scenario", calibrated.scenario, "--json", json});
  EXPECT_EQ(calibrated.run.status, 0) << calibrated.run.err;
  if (calibrated.run.status == 0) calibrated.json = nlohmann::json::parse(text_of(json));
  return calibrated;
}

// What the model makes of a single small write is the measured median, which its latencies are
// halves of: to the four digits that files have.
TEST(Calibrate, WritesFilesThatPredictWithinTheirBounds) {
  for (const char* backend : {"loopback", "tcp"}) {
    SCOPED_TRACE(backend);
    const Calibrated calibrated = calibrate(backend);
    EXPECT_THAT(calibrated.run.out,
                AllOf(HasSubstr("write latency"), HasSubstr("write stream"),
                      HasSubstr("ring slice"), HasSubstr("reduction"), HasSubstr("copy")));
    // Two latencies, two depths of two sizes, a ring, two sums, three copies.
    ASSERT_EQ(calibrated.json["samples"].size(), 12U);
    for (const nlohmann::json& sample : calibrated.json["samples"]) {
      EXPECT_LE(sample["low_us"], sample["median_us"]);
      EXPECT_LE(sample["median_us"], sample["high_us"]);
    }
    const nlohmann::json& latency = calibrated.json["samples"][0];
    EXPECT_NEAR(latency["modelled_us"].get<double>() / latency["median_us"].get<double>(), 1, 0.01);
    // What threads take is such that a slice of the ring takes what it was measured to, unless the
    // devices alone take longer.
    const nlohmann::json& slice = calibrated.json["samples"][6];
    ASSERT_EQ(slice["what"], "ring slice");
    const double ratio = slice["modelled_us"].get<double>() / slice["median_us"].get<double>();
    EXPECT_GT(ratio, 0.98);
    if (text_of(calibrated.scenario).find("thread_step:") != std::string::npos) {
      EXPECT_LT(ratio, 1.02);
    }
    // A value beyond its own range would be an error there.
    const ProgramRun predicted = run_program({"predict", calibrated.scenario});
    EXPECT_EQ(predicted.status, 0) << predicted.err;
    const ProgramRun named = run_program(
        {"predict", "ideal-ring", "--set=cluster.nodes=2", "--set=workload.size=1MiB",
         "--set=cluster.network.link=1Mb/s", "--set=cluster.node.nics.model=" + calibrated.nic});
    EXPECT_EQ(named.status, 0) << named.err;
    EXPECT_THAT(text_of(calibrated.nic),
                AllOf(HasSubstr("calibrate over " + std::string(backend)), HasSubstr("UTC"),
                      HasSubstr("estimates:"), HasSubstr("sources:")));
  }
}

TEST(Calibrate, RefusesWhatItCannotDo) {
  const ProgramRun size = run_program({"calibrate", "--backend=loopback", "--sizes=8"});
  EXPECT_EQ(size.status, 2);
  EXPECT_THAT(size.err, HasSubstr("--sizes"));
  const ProgramRun backend = run_program({"calibrate", "--backend=tpc"});
  EXPECT_EQ(backend.status, 2);
  EXPECT_THAT(backend.err, HasSubstr("did you mean \"tcp\""));
}

TEST(Calibrate, MeetsWhereItIsTold) {
  const ProgramRun run =
      run_program({"calibrate", "--backend=tcp", "--ranks=2", "--sizes=8B,1KiB", "--depths=1",
                   "--iterations=5", "--rendezvous", free_rendezvous()});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("write latency"));
}

}  // namespace
}  // namespace gradhaul
