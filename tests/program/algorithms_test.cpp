// Every algorithm of every collective from end to end: predicted, measured, refused.

#include <gmock/gmock.h>

#include "core/collective_algorithms.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;

TEST(Algorithms, AreAllPredicted) {
  constexpr std::array kCollectives{std::pair{"all_reduce", Collective::kAllReduce},
                                    std::pair{"reduce_scatter", Collective::kReduceScatter},
                                    std::pair{"all_gather", Collective::kAllGather},
                                    std::pair{"broadcast", Collective::kBroadcast},
                                    std::pair{"all_to_all", Collective::kAllToAll},
                                    std::pair{"send_recv", Collective::kSendRecv}};
  for (const auto& [name, collective] : kCollectives) {
    for (const Algorithm algorithm : algorithms_of(collective)) {
      const ProgramRun run =
          run_program({"predict", "quick", "--set", "simulation.fidelity=analytic", "--set",
                       std::string("workload.collective=") + name, "--set",
                       "communication.algorithm=" + std::string(name_of(algorithm))});
      EXPECT_EQ(run.status, 0) << run.err;
      EXPECT_THAT(run.out, HasSubstr("algorithm " + std::string(name_of(algorithm))));
    }
  }
}

TEST(Algorithms, OfTwoLevelsAreMeasuredOnTheRanksOfTheScenario) {
  const ProgramRun run = run_program(
      {"measure", "quick", "--backend", "loopback", "--iterations", "1", "--warmup", "0", "--set",
       "communication.algorithm=hierarchical", "--set", "workload.size=64KiB"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# Out of bounds values : 0 OK"));
}

// Two nodes of eight GPUs that share a NIC: a tree sends the message out of each node once, by
// which busbw, which supposes 2(N-1)/N of it, is above what the NIC carries.
TEST(Algorithms, ATreeOfTwoNodesIsAnnotated) {
  const ProgramRun run = run_program(
      {"predict", "7b-32gpu-one-nic-per-node", "--set", "cluster.nodes=2", "--set",
       "communication.algorithm=double_binary_tree", "--set", "simulation.fidelity=analytic"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out + run.err,
              HasSubstr("busbw of double_binary_tree is above what links carry"));
}

TEST(Algorithms, OfTwoLevelsAreRefusedWhereThereIsOne) {
  const ProgramRun run = run_program({"measure", "quick", "--backend", "loopback", "--ranks", "4",
                                      "--set", "communication.algorithm=hierarchical"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("the cluster has one rank in each node"));
}

}  // namespace
}  // namespace gradhaul
