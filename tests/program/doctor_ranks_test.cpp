// gradhaul doctor between hosts.

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>

#include "tests/backends/sample_machines.h"
#include "tests/program/background_program.h"
#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A host of which nothing can be seen, and four ranks beside a wire of that rate.
std::vector<std::string> arguments_of_doctor(const std::string& rate,
                                             const std::vector<std::string>& options) {
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
  return arguments;
}

ProgramRun doctor(const std::string& rate, const std::vector<std::string>& options) {
  return run_program(arguments_of_doctor(rate, options));
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

// Rank by rank, each beside a host of its own, as a launcher starts them; rank 1's has a port that
// no subnet manager has brought up.
TEST(DoctorBetweenHosts, TellsWhatIsFoundOnEachOfThem) {
  const auto healthy = dgx_a100();
  const auto broken = hgx_h100();
  broken->write("/sys/class/infiniband/mlx5_0/ports/1/state", "2: INIT\n");
  const std::string json_file = temporary_file("check.json");
  const std::string rendezvous = free_rendezvous();
  const auto arguments = [&](int rank, const std::string& host) {
    return std::vector<std::string>{"doctor",
                                    "ideal-ring",
                                    "--sysfs=" + host,
                                    "--set=workload.size=64KiB",
                                    "--set=cluster.network.switch.latency=0ns",
                                    "--set=cluster.network.link=1Mb/s",
                                    "--tolerance=100%",
                                    "--backend=tcp",
                                    "--ranks=3",
                                    "--rank=" + std::to_string(rank),
                                    "--rendezvous=" + rendezvous,
                                    "--timeout=60s"};
  };
  BackgroundProgram second("second", arguments(1, broken->root()));
  BackgroundProgram third("third", arguments(2, broken->root()));
  std::vector<std::string> first = arguments(0, healthy->root());
  first.insert(first.end(), {"--ranks-json", json_file});
  const ProgramRun run = run_program(first);
  // All pairs pass; a host has a problem.
  EXPECT_EQ(run.status, 3) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("6 of 6 pairs pass"));
  EXPECT_THAT(run.out, HasSubstr("(ranks 1, 2):\n1 problem, 0 warnings"));
  EXPECT_THAT(run.out, HasSubstr("PROBLEM port-no-subnet-manager"));
  for (BackgroundProgram* rank : {&second, &third}) {
    const ProgramRun helped = rank->end();
    EXPECT_EQ(helped.status, 0) << helped.err;
    EXPECT_EQ(helped.out, "");
  }
  const auto json = nlohmann::json::parse(text_of(json_file));
  EXPECT_EQ(json["pass"], true);
  ASSERT_EQ(json["hosts"].size(), 2U);
  EXPECT_THAT(json["hosts"][0]["ranks"], ElementsAre(0));
  EXPECT_EQ(json["hosts"][0]["problem"], false);
  EXPECT_THAT(json["hosts"][1]["ranks"], ElementsAre(1, 2));
  EXPECT_EQ(json["hosts"][1]["problem"], true);
  EXPECT_EQ(json["hosts"][1]["checkup"]["findings"][0]["id"], "port-no-subnet-manager");
}

// Ranks that rank 0 started are on its host, and nobody looks at it twice.
TEST(DoctorBetweenHosts, LooksAtAHostOnce) {
  const std::string json_file = temporary_file("check.json");
  const ProgramRun run =
      doctor("1Mb/s", {"--backend=tcp", "--ranks=2", "--tolerance=100%", "--ranks-json", json_file,
                       "--rendezvous", free_rendezvous()});
  EXPECT_EQ(run.status, 0) << run.err << run.out;
  EXPECT_THAT(run.out, Not(HasSubstr("# Host ")));
  const auto json = nlohmann::json::parse(text_of(json_file));
  ASSERT_EQ(json["hosts"].size(), 1U);
  EXPECT_THAT(json["hosts"][0]["ranks"], ElementsAre(0, 1));
}

// What launched ranks say together, by rank 0 alone.
void expect_one_answer(const ProgramRun& run) {
  EXPECT_EQ(run.status, 0) << run.err << run.out;
  EXPECT_THAT(run.out, HasSubstr("# Between 4 nodes over tcp"));
  EXPECT_THAT(run.out, HasSubstr("12 of 12 pairs pass"));
  EXPECT_THAT(run.out, HasSubstr(" over 4 nodes"));
  EXPECT_EQ(run.out.find("# gradhaul"), run.out.rfind("# gradhaul")) << "several ranks speak";
}

TEST(DoctorBetweenHosts, RunsUnderMpirun) {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
  std::vector<std::string> arguments{"--allow-run-as-root", "--oversubscribe", "-n", "4",
                                     GRADHAUL_PROGRAM};
  const auto own = arguments_of_doctor("1Mb/s", {"--backend=tcp", "--tolerance=100%"});
  arguments.insert(arguments.end(), own.begin(), own.end());
  expect_one_answer(BackgroundProgram("mpirun", "mpirun", arguments).end());
}

// By what srun sets, where there is none.
TEST(DoctorBetweenHosts, RunsAsTasksOfAStepOfSlurm) {
  const std::map<std::string, std::string> step{{"SLURM_STEP_NUM_TASKS", "4"},
                                                {"SLURM_STEP_NUM_NODES", "1"},
                                                {"SLURM_JOB_ID", std::to_string(getpid())},
                                                {"SLURM_STEP_ID", "2"}};
  for (const auto& [name, value] : step) setenv(name.c_str(), value.c_str(), 1);
  const auto arguments = arguments_of_doctor("1Mb/s", {"--backend=tcp", "--tolerance=100%"});
  std::deque<BackgroundProgram> tasks;
  for (int task = 0; task < 4; ++task) {
    setenv("SLURM_PROCID", std::to_string(task).c_str(), 1);
    tasks.emplace_back("task" + std::to_string(task), arguments);
  }
  for (const auto& [name, value] : step) unsetenv(name.c_str());
  unsetenv("SLURM_PROCID");
  expect_one_answer(tasks.front().end());
  for (std::size_t task = 1; task < tasks.size(); ++task) {
    const ProgramRun helped = tasks[task].end();
    EXPECT_EQ(helped.status, 0) << helped.err;
    EXPECT_EQ(helped.out, "");
  }
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
