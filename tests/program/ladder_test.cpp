// gradhaul predict --ladder, measure --ladder, and compare of both.

#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

// A small world: four servers of one GPU.
std::vector<std::string> predict_ladder(const std::string& json) {
  return {"predict",
          "link-test",
          "--ladder",
          "--set=cluster.network=ndr",
          "--set=cluster.nodes=4",
          "--set=communication.channels=2",
          "--set=communication.slot_size=64KiB",
          "--set=workload.collective=all_reduce",
          "--set=workload.size=[4MiB]",
          "--json",
          json};
}

// As if it had been measured, with the times of these rungs and of all above times `factor`.
void write_measured(const nlohmann::json& predicted, std::size_t from, double factor,
                    const std::string& path) {
  nlohmann::json measured = predicted;
  measured["kind"] = "measured";
  measured["engine"] = {{"backend", "verbs"}};
  for (std::size_t i = from; i < measured["rows"].size(); ++i) {
    measured["rows"][i]["time_us"] = measured["rows"][i]["time_us"].get<double>() * factor;
  }
  write_text(path, measured.dump());
}

TEST(Ladder, PutsAGapToTheRungAtWhichItArises) {
  const std::string predicted = temporary_file("predicted_ladder.json");
  const std::string measured = temporary_file("measured_ladder.json");
  const ProgramRun run = run_program(predict_ladder(predicted));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("pair, host memory"), HasSubstr("ring step")));
  const nlohmann::json json = nlohmann::json::parse(text_of(predicted));
  ASSERT_EQ(json["rows"].size(), 5U);
  EXPECT_EQ(json["kind"], "predicted");
  // A link of 400 Gb/s less 26 of 4122 bytes; each rung gives no more than the one below... but
  // for a GPU's memory, which may be nearer to the NIC than the host's.
  EXPECT_NEAR(json["rows"][0]["bandwidth_GBps"].get<double>(), 50 * 4096.0 / 4122, 0.01);
  EXPECT_LT(json["rows"][1]["of_below"], 1);
  EXPECT_LT(json["rows"][3]["of_below"], 1);

  write_measured(json, 5, 1, measured);
  const ProgramRun equal = run_program({"compare", predicted, measured});
  EXPECT_EQ(equal.status, 0) << equal.err;
  EXPECT_THAT(equal.out, HasSubstr("No gap"));
  write_measured(json, 3, 1.5, measured);
  const std::string csv = temporary_file("compared_ladder.csv");
  const ProgramRun slow = run_program({"compare", predicted, measured, "--csv", csv});
  EXPECT_EQ(slow.status, 3) << slow.err;
  EXPECT_THAT(slow.out, HasSubstr("the gap arises at: ring step (slower"));
  const std::string rows = text_of(csv);
  EXPECT_EQ(rows.find("rung,size_bytes,carried_bytes,predicted_us,measured_us,time_ratio,verdict,"),
            0U);
  EXPECT_THAT(rows, testing::ContainsRegex(
                        "\nhost_pair,4194304,1048576,[0-9.,]+,1.0,within,,gradhaul,gradhaul\n"));
  // Times are of whole picoseconds.
  EXPECT_THAT(rows, testing::ContainsRegex(
                        "\nring_step,4194304,1048576,[0-9.,]+,1[.](50|49999)[0-9]*,slower,,"));
}

TEST(Ladder, IsMeasuredOverSocketsAndLaidBesideThePrediction) {
  const std::string predicted = temporary_file("predicted_ladder.json");
  const std::string measured = temporary_file("measured_ladder.json");
  ASSERT_EQ(run_program(predict_ladder(predicted)).status, 0);
  const ProgramRun run = run_program(
      measure("tcp", {"workload.size=[4MiB]"},
              {"--ranks=4", "--ladder", "--iterations=1", "--warmup=0", "--json", measured}));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("measured (tcp)"), HasSubstr("no backend sees the wire"),
                             HasSubstr("host memory alone")));
  // No speed is asserted: whatever it is, both have the rungs.
  const ProgramRun compared = run_program({"compare", predicted, measured, "--tolerance=1000%",
                                           "--json", temporary_file("compared_ladder.json")});
  EXPECT_THAT(compared.out, HasSubstr("not measured: no backend sees the wire alone"));
  const nlohmann::json json =
      nlohmann::json::parse(text_of(temporary_file("compared_ladder.json")));
  EXPECT_EQ(json["rungs"].size(), 5U);
  EXPECT_TRUE(json["rungs"][3]["time_ratio"].is_number());
}

TEST(Ladder, SaysWhereThereIsNone) {
  const ProgramRun one = run_program({"predict", "link-test", "--ladder", "--set=cluster.nodes=1",
                                      "--set=cluster.node=hgx-h100", "--set=cluster.network=ndr"});
  EXPECT_EQ(one.status, 2);
  EXPECT_THAT(one.err, HasSubstr("--ladder: the scenario has one node"));
  const ProgramRun open =
      run_program({"predict", "quick", "--ladder", "--set=communication.algorithm=auto"});
  EXPECT_EQ(open.status, 2);
  EXPECT_THAT(open.err, HasSubstr("still to be chosen"));
  const ProgramRun jobs = run_program({"predict", "two-jobs-packed", "--ladder"});
  EXPECT_EQ(jobs.status, 2);
  EXPECT_EQ(run_program({"predict", "quick", "--ladder", "--trace", "x.json"}).status, 2);
}

TEST(Ladder, IsWrittenAsCsvToo) {
  const std::string csv = temporary_file("ladder.csv");
  std::vector<std::string> arguments = predict_ladder(temporary_file("ladder.json"));
  arguments.insert(arguments.end(), {"--csv", csv});
  const ProgramRun run = run_program(arguments);
  ASSERT_EQ(run.status, 0) << run.err;
  const std::string text = text_of(csv);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
  EXPECT_EQ(text.find("kind,rung,size_bytes,carried_bytes,time_us,bandwidth_GBps,"), 0U);
  // 4 MiB over 4 ranks and 2 channels on one NIC: steps of 1 MiB.
  EXPECT_THAT(text, HasSubstr("\npredicted,link,4194304,1048576,"));
  EXPECT_THAT(text, HasSubstr("\npredicted,collective,4194304,6291456,"));
  EXPECT_THAT(text, HasSubstr("p50_us,p99_us,profile\n"));
  EXPECT_THAT(text, EndsWith(",gradhaul\n"));
  EXPECT_THAT(run.out, HasSubstr(", profile gradhaul, predicted (packet)\n"));
}

}  // namespace
}  // namespace gradhaul
