// Algorithms and programs from files, from end to end: predicted, measured, swept.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/core/listed_examples.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string file_of(const ListedAlgorithm& algorithm) {
  const std::string file = temporary_file(algorithm.name + ".xml");
  write_text(file, listed::msccl_text(algorithm));
  return file;
}

std::vector<std::string> world(const std::string& collective, int ranks, const std::string& file) {
  return {"ideal-ring",
          "--set=workload.size=64KiB",
          "--set=workload.collective=" + collective,
          "--set=cluster.nodes=" + std::to_string(ranks),
          "--set=communication.channels=auto",
          "--set=communication.algorithm=" + file};
}

json result_of(std::vector<std::string> arguments) {
  const std::string result = temporary_file("result.json");
  arguments.insert(arguments.end(), {"--json", result});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  return json::parse(text_of(result));
}

// The same engine runs them over memory; no element is wrong, in place and out of place.
TEST(AlgorithmFiles, AreMeasuredAndPredicted) {
  struct Case {
    std::string collective;
    ListedAlgorithm algorithm;
  };
  const std::vector<Case> cases{{"all_reduce", listed::all_pairs(3, 1)},
                                {"all_reduce", listed::ring_all_reduce(3, 2)},
                                {"all_gather", listed::ring_all_gather(3, true)},
                                {"all_to_all", listed::all_to_all(3)},
                                {"reduce_scatter", listed::reduce_scatter(3)},
                                {"broadcast", listed::chain_broadcast(3)}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.algorithm.name);
    std::vector<std::string> arguments = world(c.collective, 3, file_of(c.algorithm));
    arguments.insert(arguments.begin(), "predict");
    const json predicted = result_of(arguments);
    EXPECT_EQ(predicted["rows"][0]["algorithm"], c.algorithm.name);
    arguments[0] = "measure";
    arguments.insert(arguments.end(), {"--backend=loopback", "--iterations=1", "--warmup=0"});
    const json measured = result_of(arguments);
    EXPECT_EQ(measured["rows"].size(), c.algorithm.in_place ? 2U : 1U);
    for (const json& row : measured["rows"]) {
      EXPECT_EQ(row["wrong"], 0);
      EXPECT_EQ(row["algorithm"], c.algorithm.name);
      EXPECT_EQ(row["bytes_sent_per_rank"], predicted["rows"][0]["bytes_sent_per_rank"]);
    }
  }
}

// A file for as many ranks as are asked for, of a scenario of others.
TEST(AlgorithmFiles, AreMeasuredWithTheRanksAskedFor) {
  const json measured =
      result_of({"measure", "quick", "--backend=loopback", "--ranks=3", "--iterations=1",
                 "--warmup=0", "--set=workload.size=48KiB",
                 "--set=communication.algorithm=" + file_of(listed::all_pairs(3, 0))});
  EXPECT_EQ(measured["rows"][0]["wrong"], 0);
  EXPECT_EQ(measured["rows"][0]["ranks"], 3);
}

TEST(AlgorithmFiles, AreCheckedBeforeTheyRun) {
  ListedAlgorithm broken = listed::all_pairs(3, 0);
  broken.ranks[1].blocks[2].steps[0].after_block = -1;
  const std::string file = file_of(broken);
  std::vector<std::string> arguments = world("all_reduce", 3, file);
  arguments.insert(arguments.begin(), "predict");
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr(file + ":"));
  EXPECT_THAT(run.err, HasSubstr("reads a chunk that thread block 0 may still be writing"));
}

// Two GPUs that each compute for a microsecond, exchange 50 kB (1 us, and 1 us on the way), and
// compute again.
TEST(Goal, IsRunAndToldAsARow) {
  const std::string file = temporary_file("program.goal");
  std::string text = "num_ranks 2\n";
  for (const char* rank : {"0", "1"}) {
    const std::string peer = *rank == '0' ? "1" : "0";
    text += std::string("rank ") + rank + " {\n  a: calc 1000\n  b: send 50000b to " + peer +
            "\n  c: recv 50000b from " + peer +
            "\n  d: calc 1000\n  b requires a\n  d requires c\n}\n";
  }
  write_text(file, text);
  const std::vector<std::string> options{"ideal-ring", "--set=cluster.nodes=2",
                                         "--set=workload.goal=" + file};
  std::vector<std::string> arguments = options;
  arguments.insert(arguments.begin(), "predict");
  const json result = result_of(arguments);
  EXPECT_NEAR(result["rows"][0]["time_us"].get<double>(), 1 + 2 + 1, 1e-3);
  EXPECT_THAT(result["rows"][0]["algorithm"].get<std::string>(), testing::EndsWith("_program"));
  EXPECT_EQ(result["rows"][0]["size_bytes"], 50'000);
  EXPECT_EQ(result["scenario"]["effective"]["workload"]["goal"], file);
  arguments = options;
  arguments.insert(arguments.begin(), "measure");
  arguments.emplace_back("--backend=loopback");
  const ProgramRun measured = run_program(arguments);
  EXPECT_EQ(measured.status, 2);
  EXPECT_THAT(measured.err, HasSubstr("a program is simulated only"));
}

}  // namespace
}  // namespace gradhaul
