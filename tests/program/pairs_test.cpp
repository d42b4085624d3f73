// gradhaul measure --pairs.

#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// How fast it is, nobody knows; so somebody may be suspect, and the status 3.
TEST(MeasuredPairs, MakeAMatrixOfAllNodes) {
  for (const char* backend : {"tcp", "loopback"}) {
    SCOPED_TRACE(backend);
    const std::string file = temporary_file("pairs.json");
    const ProgramRun run =
        run_program(measure(backend, {"workload.size=[1MiB]"},
                            {"--ranks=4", "--pairs", "--iterations=2", "--json", file}));
    EXPECT_THAT(run.status, AnyOf(0, 3)) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("nic0, GB/s one way"), HasSubstr("node3"),
                               HasSubstr("# Median: "), HasSubstr("# Predicted: ")));
    const nlohmann::json json = nlohmann::json::parse(text_of(file));
    // All-reduce of four ranks: 1 MiB / 4 in a step.
    EXPECT_EQ(json["size_bytes"], 262144);
    ASSERT_EQ(json["pairs"].size(), 12U);
    for (const nlohmann::json& pair : json["pairs"]) {
      EXPECT_NE(pair["from"], pair["to"]);
      EXPECT_GT(pair["one_way_us"], 0);
      EXPECT_GT(pair["both_ways_us"], 0);
      EXPECT_GT(pair["predicted_us"], 0);
    }
    EXPECT_EQ(run.status == 3, !json["suspects"].empty());
  }
}

TEST(MeasuredPairs, TakeSeveralNodes) {
  const ProgramRun run =
      run_program({"measure", "link-test", "--backend=loopback", "--pairs", "--set=cluster.nodes=1",
                   "--set=cluster.node=hgx-h100", "--set=cluster.network=ndr"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("--pairs: the scenario has one node"));
}

}  // namespace
}  // namespace gradhaul
