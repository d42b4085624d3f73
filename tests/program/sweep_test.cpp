// gradhaul sweep, as a user would run it; in several processes, some of which die.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/program/background_program.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;
using std::chrono_literals::operator""ms;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

#ifdef __SANITIZE_ADDRESS__
constexpr int kManyPoints = 60;
constexpr int kSlowPoints = 20;
#else
constexpr int kManyPoints = 500;
// Some seconds of them: mpirun takes one to end a job whose rank is gone.
constexpr int kSlowPoints = 100;
#endif

// A fresh path: nothing of an earlier run is there.
std::string fresh(const std::string& name) {
  const std::string path = temporary_file(name);
  for (const char* tail : {"", ".partial"}) std::filesystem::remove(path + tail);
  return path;
}

std::vector<std::string> sweep(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"sweep", "quick", "--set=simulation.fidelity=analytic"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string without_cost(const std::string& text) {
  return text.substr(0, text.find("\n  \"cost\": "));
}

Json json_in(const std::string& path) { return Json::parse(text_of(path)); }

// Each of simulation.seed = 1 … points once, and done.
void expect_every_seed(const Json& sweep, int points) {
  std::set<std::string> seeds;
  for (const Json& point : sweep.at("points")) {
    const std::string seed = point.at("values").at(0).get<std::string>();
    EXPECT_TRUE(seeds.insert(seed).second) << seed << " twice";
    EXPECT_EQ(point.at("status"), "done") << point.at("error");
    EXPECT_EQ(std::to_string(point.at("result").at("seed").get<int>()), seed);
  }
  EXPECT_EQ(seeds.size(), static_cast<std::size_t>(points));
}

TEST(Sweep, SaysTheSameHoweverManyCompute) {
  std::string first_json;
  std::string first_csv;
  std::string first_out;
  for (const char* jobs : {"1", "3"}) {
    const std::string json = fresh("sweep.json");
    const std::string csv = fresh("sweep.csv");
    // Packets too: what a process simulated before must not show.
    const ProgramRun run = run_program({"sweep", "quick", "--vary", "workload.size=64KiB,1MiB",
                                        "--vary", "simulation.fidelity=packet,flow,analytic",
                                        "--jobs", jobs, "--json", json, "--csv", csv});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_FALSE(std::filesystem::exists(json + ".partial"));
    if (first_json.empty()) first_json = text_of(json);
    if (first_csv.empty()) first_csv = text_of(csv);
    if (first_out.empty()) first_out = run.out;
    EXPECT_EQ(without_cost(text_of(json)), without_cost(first_json));
    EXPECT_EQ(text_of(csv), first_csv);
    EXPECT_EQ(run.out, first_out);
  }
  EXPECT_THAT(first_out, HasSubstr("workload.size (2), simulation.fidelity (3): 6 points"));
}

TEST(Sweep, GivesAtEachPointWhatPredictGives) {
  const std::string json = fresh("sweep.json");
  const std::string csv = fresh("sweep.csv");
  ASSERT_EQ(run_program(sweep({"--vary=cluster.nodes=2,4", "--json", json, "--csv", csv})).status,
            0);
  const std::string one = temporary_file("one.json");
  const std::string row = temporary_file("one.csv");
  ASSERT_EQ(run_program({"predict", "quick", "--set=simulation.fidelity=analytic",
                         "--set=cluster.nodes=4", "--json", one, "--csv", row})
                .status,
            0);
  const Json predicted = json_in(one);
  const Json point = json_in(json).at("points").at(1);
  EXPECT_EQ(point.at("values"), Json({"4"}));
  for (const char* key : {"rows", "resources", "counters", "notes"}) {
    EXPECT_EQ(point.at("result").at(key), predicted.at(key)) << key;
  }
  EXPECT_EQ(point.at("result").at("digest"), predicted.at("engine").at("digest"));
  std::istringstream lines(text_of(row));
  std::string head;
  std::string line;
  std::getline(lines, head);
  std::getline(lines, line);
  EXPECT_THAT(text_of(csv),
              AllOf(HasSubstr("cluster.nodes," + head + "\n"), HasSubstr("\n4," + line + "\n")));
}

// A profile that does not fit the cluster fails alone; each other line is of its own.
TEST(Sweep, NamesTheProfileOfEachPoint) {
  const std::string csv = fresh("sweep.csv");
  const ProgramRun run = run_program(
      sweep({"--vary=communication.profile=gradhaul,nccl-2.22,nccl-2.30", "--csv", csv}));
  ASSERT_EQ(run.status, 0) << run.err;
  std::istringstream lines(text_of(csv));
  std::string line;
  std::getline(lines, line);
  EXPECT_THAT(line, EndsWith(",limited_by,profile"));
  for (const std::string profile : {"gradhaul", "nccl-2.22", "nccl-2.30"}) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_THAT(line, AllOf(StartsWith(profile + ","), EndsWith("," + profile)));
  }
}

TEST(Sweep, LosesNothingForOnePointThatCannotBe) {
  const std::string json = fresh("sweep.json");
  const auto arguments =
      sweep({"--vary=cluster.nodes=2,100000000,4", "--json", json, "--progress=on"});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("# Failed: 1 of 3 points"));
  EXPECT_THAT(run.err, AllOf(HasSubstr("cluster.nodes=100000000: "),
                             HasSubstr("1 of 3 points failed; the others are kept in " + json)));
  const Json points = json_in(json).at("points");
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].at("status"), "done");
  EXPECT_EQ(points[1].at("status"), "failed");
  EXPECT_EQ(points[2].at("status"), "done");
  // The next run computes only that one.
  EXPECT_THAT(run_program(arguments).err, HasSubstr("going on: 2 of 3 points are in"));
  std::filesystem::remove(json + ".partial");
}

TEST(Sweep, JudgesExpectationsAtEachPoint) {
  const ProgramRun run =
      run_program(sweep({"--vary=workload.size=1KiB,1GiB", "--set=expect={busbw: \">=300GB/s\"}"}));
  EXPECT_EQ(run.status, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("workload.size=1KiB: "), Not(HasSubstr("size=1GiB"))));
}

TEST(Sweep, RefusesWhatCannotBeSwept) {
  for (const auto& [option, says] : std::vector<std::pair<std::string, std::string>>{
           {"--set=cluster.nodes=2", "nothing varies"},
           {"--vary=cluster.nods=2,4", "did you mean"},
           {"--vary=cluster.nodes", "PATH=A,B,C"},
           {"--vary=cluster.nodes=1..8", "FROM..TO:xFACTOR"},
       }) {
    const ProgramRun run = run_program(sweep({option}));
    EXPECT_EQ(run.status, 2) << option;
    EXPECT_THAT(run.err, HasSubstr(says));
    EXPECT_EQ(run.out, "");
  }
  const ProgramRun run =
      run_program(sweep({"--vary=cluster.nodes=2", "--json=/no/such/folder/x.json"}));
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("/no/such/folder/x.json"));
}

TEST(Sweep, TakesItsAxesFromTheScenario) {
  const std::string path = temporary_file("vary.yaml");
  const std::string text =
      "workload: {collective: all_reduce}\n"
      "cluster: {nodes: 2, node: hgx-h100, network: ndr-rails}\n"
      "simulation: {fidelity: analytic}\n"
      "vary: {workload.size: 1MiB..4MiB:x2, cluster.nodes: [2, 4]}\n";
  write_text(path, text);
  const ProgramRun run = run_program({"sweep", path, "--vary=cluster.nodes=3"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("over workload.size (3), cluster.nodes (1): 3 points"));
  EXPECT_EQ(run_program({"check", path}).status, 0);
  // A point that cannot be is a mistake to whoever checks.
  write_text(path, text + "expect: {}\ncommunication: {}\n");
  const ProgramRun wrong = run_program({"check", path, "--set=vary.communication.slots=[8, many]"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("the point workload.size=1MiB, cluster.nodes=2, "
                                   "communication.slots=many of its `vary` cannot be: slots: "));
}

std::size_t lines_in(const std::string& path) {
  const std::string text = text_of(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Until so many points are kept, or the patience of two minutes is over.
void wait_until_kept(const std::string& json, std::size_t points) {
  for (int i = 0; i < 12000 && lines_in(json + ".partial") <= points; ++i) {
    std::this_thread::sleep_for(10ms);
  }
}

std::string seeds(int points) {
  return "--vary=simulation.seed=1.." + std::to_string(points) + ":+1";
}

TEST(Sweep, GoesOnWhereItWasInterrupted) {
  const std::string json = fresh("sweep.json");
  // Of points that take some time, so that it cannot be over before the signal.
  const std::vector<std::string> arguments{"sweep",   "quick",  "--no-skip", "--jobs=2",
                                           seeds(40), "--json", json};
  BackgroundProgram first("first", arguments);
  wait_until_kept(json, 2);
  kill(first.process(), SIGINT);
  const ProgramRun run = first.end();
  ASSERT_EQ(run.status, 4) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("interrupted; "), HasSubstr("are kept in " + json)));
  EXPECT_EQ(json_in(json).at("interrupted"), true);
  const std::size_t kept = lines_in(json + ".partial") - 1;
  EXPECT_EQ(json_in(json).at("points").size(), kept);
  EXPECT_GE(kept, 2U);
  // Another sweep over the same file leaves those aside that are of other points.
  const std::string seed = json_in(json)["points"][0]["values"][0];
  const ProgramRun other = run_program(
      {"sweep", "quick", "--no-skip", "--vary=simulation.seed=" + seed, "--json", json});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(other.err, AllOf(HasSubstr("going on: 1 of 1 points"), HasSubstr("left aside")));
}

// The process of one of the ranks that a launcher started.
pid_t process_of_rank(pid_t launcher, int rank) {
  const std::string sought = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::istringstream stat(text_of(entry.path() / "stat"));
    std::string word;
    pid_t parent = 0;
    stat >> word >> word >> word >> parent;
    if (parent != launcher) continue;
    std::istringstream variables(text_of(entry.path() / "environ"));
    while (std::getline(variables, word, '\0')) {
      if (word == sought) return std::stoi(name);
    }
  }
  return 0;
}

bool has_open_mpi() {
  return std::system("mpirun --version 2>/dev/null | grep -q 'Open MPI'") == 0;
}

std::vector<std::string> under_mpirun(const std::vector<std::string>& options,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"--allow-run-as-root", "--oversubscribe", "-n", "3"};
  all.insert(all.end(), options.begin(), options.end());
  all.push_back(GRADHAUL_PROGRAM);
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

TEST(SweepUnderMpirun, FinishesEveryPointThoughAWorkerIsKilledHalfWay) {
  if (!has_open_mpi()) GTEST_SKIP() << "no Open MPI (package openmpi-bin)";
  const std::string json = fresh("sweep.json");
  BackgroundProgram run(
      "mpirun", "mpirun",
      under_mpirun({"--enable-recovery"}, sweep({seeds(kManyPoints), "--json", json})));
  wait_until_kept(json, kManyPoints / 2);
  const pid_t worker = process_of_rank(run.process(), 2);
  ASSERT_GT(worker, 0);
  kill(worker, SIGKILL);
  const ProgramRun end = run.end();
  EXPECT_THAT(end.err, HasSubstr("rank 2 is gone; what it had in hand"));
  expect_every_seed(json_in(json), kManyPoints);
  EXPECT_FALSE(std::filesystem::exists(json + ".partial"));
  EXPECT_EQ(end.out.find("# gradhaul"), end.out.rfind("# gradhaul")) << "more than one speaks";
  // And just what one process alone says.
  const std::string alone = fresh("alone.json");
  ASSERT_EQ(run_program(sweep({seeds(kManyPoints), "--json", alone})).status, 0);
  EXPECT_EQ(without_cost(text_of(json)), without_cost(text_of(alone)));
}

TEST(SweepUnderMpirun, GoesOnAfterTheLauncherEndedTheJob) {
  if (!has_open_mpi()) GTEST_SKIP() << "no Open MPI (package openmpi-bin)";
  const std::string json = fresh("sweep.json");
  const auto arguments =
      under_mpirun({}, {"sweep", "quick", "--no-skip", seeds(kSlowPoints), "--json", json});
  BackgroundProgram run("mpirun", "mpirun", arguments);
  wait_until_kept(json, 3);
  const pid_t worker = process_of_rank(run.process(), 1);
  ASSERT_GT(worker, 0);
  kill(worker, SIGKILL);
  EXPECT_NE(run.end().status, 0);
  ASSERT_GT(lines_in(json + ".partial"), 3U);
  BackgroundProgram again("again", "mpirun", arguments);
  const ProgramRun end = again.end();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("going on: "));
  expect_every_seed(json_in(json), kSlowPoints);
}

}  // namespace
}  // namespace gradhaul
