#include "scenarios/launched_rank.h"

#include <gtest/gtest.h>

#include <map>

namespace gradhaul {
namespace {

std::optional<LaunchedRank> launched(const std::map<std::string, std::string>& variables) {
  return launched_rank([&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

TEST(LaunchedRank, OfOpenMpi) {
  const auto rank = launched({{"OMPI_COMM_WORLD_RANK", "3"},
                              {"OMPI_COMM_WORLD_SIZE", "8"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "mpirun");
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->ranks, 8);
  EXPECT_TRUE(rank->all_on_this_host);
  EXPECT_FALSE(launched({{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "8"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}})
                   ->all_on_this_host);
}

TEST(LaunchedRank, OfSlurm) {
  const auto rank = launched({{"SLURM_PROCID", "1"},
                              {"SLURM_STEP_NUM_TASKS", "2"},
                              {"SLURM_STEP_NUM_NODES", "1"},
                              {"SLURM_JOB_ID", "77"}});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "srun");
  EXPECT_TRUE(rank->all_on_this_host);
  EXPECT_EQ(rank->job, "77");
  // Steps that run side by side meet at ports of their own.
  const auto step = [](const char* number) {
    return *launched({{"SLURM_PROCID", "1"},
                      {"SLURM_STEP_NUM_TASKS", "2"},
                      {"SLURM_STEP_NUM_NODES", "1"},
                      {"SLURM_JOB_ID", "77"},
                      {"SLURM_STEP_ID", number}});
  };
  EXPECT_NE(port_of_job(step("0")), port_of_job(step("1")));
  // A batch script is no task of a step.
  EXPECT_FALSE(launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}));
}

// What keeps runs apart is called the same on all hosts, or there is none.
TEST(LaunchedRank, HasAsTokenWhatIsTheSameOnAllHosts) {
  EXPECT_EQ(launched({{"OMPI_COMM_WORLD_RANK", "3"},
                      {"OMPI_COMM_WORLD_SIZE", "8"},
                      {"PMIX_NAMESPACE", "prterun-host-1@1"}})
                ->token,
            "mpirun prterun-host-1@1");
  EXPECT_EQ(launched({{"SLURM_PROCID", "1"},
                      {"SLURM_STEP_NUM_TASKS", "2"},
                      {"SLURM_JOB_ID", "77"},
                      {"SLURM_STEP_ID", "0"}})
                ->token,
            "srun 77.0");
  EXPECT_EQ(launched({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"PMI_FD", "7"}})->token, "");
  EXPECT_EQ(launched({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}})->token, "");
}

TEST(LaunchedRank, OfNobody) {
  EXPECT_FALSE(launched({}));
  EXPECT_FALSE(launched({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}));
  EXPECT_FALSE(launched({{"OMPI_COMM_WORLD_RANK", "x"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
  EXPECT_FALSE(launched({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
}

TEST(LaunchedRank, PortsAreTheSameForAJobAndNoClients) {
  LaunchedRank a;
  a.job = "prterun-host-1@1";
  const int port = port_of_job(a);
  EXPECT_EQ(port, port_of_job(a));
  EXPECT_GE(port, 1024);
  EXPECT_LT(port, 32768);
  LaunchedRank b = a;
  b.job = "prterun-host-2@1";
  EXPECT_NE(port, port_of_job(b));
}

}  // namespace
}  // namespace gradhaul
