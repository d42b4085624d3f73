// gradhaul measure, when all goes well.

#include "tests/program/measure_runs.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSizes = "workload.size=[4B, 100B, 12348B, 1000004B]";

void expect_all_right(const nlohmann::json& result, std::size_t rows) {
  ASSERT_EQ(result["rows"].size(), rows);
  for (const nlohmann::json& row : result["rows"]) {
    EXPECT_EQ(row["wrong"], 0) << row.dump();
    EXPECT_GT(row["time_us"], 0) << row.dump();
    EXPECT_EQ(row["min_us"], row["p99_us"]) << row.dump();  // of one iteration
    EXPECT_EQ(row["times_us"], nlohmann::json::array({row["time_us"]})) << row.dump();
  }
}

TEST(Measure, IsRightForEveryDataTypeAndReduction) {
  for (const char* datatype : {"fp32", "fp16", "bf16", "int32"}) {
    for (const char* reduction : {"sum", "avg", "max", "min"}) {
      SCOPED_TRACE(std::string(datatype) + " " + reduction);
      const std::vector<std::string> settings{kSizes, std::string("workload.datatype=") + datatype,
                                              std::string("workload.reduction=") + reduction};
      expect_all_right(measured("loopback", 5, settings), 8);
      expect_all_right(measured("tcp", 3, settings), 8);
    }
  }
}

TEST(Measure, IsRightForEveryCollectiveAndNumberOfQueuePairs) {
  for (const char* queue_pairs : {"1", "2", "4"}) {
    const std::vector<std::string> settings{
        kSizes, std::string("communication.queue_pairs=") + queue_pairs};
    for (const char* collective : {"all_to_all", "send_recv"}) {
      SCOPED_TRACE(std::string(collective) + " " + queue_pairs);
      std::vector<std::string> with = settings;
      with.push_back(std::string("workload.collective=") + collective);
      expect_all_right(measured("tcp", 4, with), 4);  // out of place alone
      expect_all_right(measured("loopback", 3, with), 4);
    }
    std::vector<std::string> tree = settings;
    tree.emplace_back("communication.algorithm=double_binary_tree");
    SCOPED_TRACE(queue_pairs);
    expect_all_right(measured("tcp", 4, tree), 8);
  }
}

// Two nodes of two ranks each: one copy within a node, sockets between nodes.
TEST(Measure, GoesThroughMemoryWithinANode) {
  for (const bool through_memory : {true, false}) {
    const std::string json = temporary_file("within.json");
    const std::vector<std::string> settings{kSizes, "cluster.nodes=2", "cluster.ranks_per_node=2",
                                            "cluster.node=hgx-h100"};
    std::vector<std::string> options{"--iterations=1", "--warmup=0", "--json", json};
    if (!through_memory) options.emplace_back("--within-node=network");
    const ProgramRun run = run_program(measure("tcp", settings, options));
    ASSERT_EQ(run.status, 0) << run.err;
    const auto result = nlohmann::json::parse(text_of(json));
    expect_all_right(result, 8);
    EXPECT_EQ(result["engine"]["device"], "sockets");
    EXPECT_EQ(result["engine"].value("within_node", ""), through_memory ? "shared memory" : "");
  }
}

TEST(Measure, SaysInItsResultWhatItWas) {
  const nlohmann::json result = measured("tcp", 3, {"workload.size=[3000B]"});
  EXPECT_EQ(result["schema"], "gradhaul.result/1");
  EXPECT_EQ(result["kind"], "measured");
  EXPECT_EQ(result["engine"]["backend"], "tcp");
  EXPECT_EQ(result["engine"]["memory"], "host");
  EXPECT_EQ(result["placement"]["rings"].size(), 2U);
  EXPECT_EQ(result["placement"]["rings"][0].size(), 3U);
  const nlohmann::json& row = result["rows"][0];
  EXPECT_EQ(row["ranks"], 3);
  EXPECT_EQ(row["size_bytes"], 3000);
  EXPECT_EQ(row["in_place"], false);
  EXPECT_EQ(result["rows"][1]["in_place"], true);
  // 2(n-1) chunks of a third: each rank sends 4/3 of the message.
  EXPECT_EQ(row["bytes_sent_per_rank"], 4000);
  // algbw = size / time, busbw = 2(n-1)/n of it.
  const double time = row["time_us"];
  EXPECT_NEAR(row["algbw_GBps"].get<double>(), 3000 / time / 1e3, 1e-9);
  EXPECT_NEAR(row["busbw_GBps"].get<double>(), 4000 / time / 1e3, 1e-9);
  EXPECT_THAT(result["notes"].dump(),
              HasSubstr("3 ranks, one a node, instead of the scenario's 2"));
  EXPECT_EQ(result["scenario"]["effective"]["cluster"]["nodes"], 3);
}

TEST(Measure, PrintsTheTableOfNcclTests) {
  const ProgramRun run = run_program(
      measure("loopback", {"workload.size=[4B, 1KiB]"}, {"--iterations=3", "--warmup=1"}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("measured over backend loopback"),
                             HasSubstr("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : "),
                             Not(HasSubstr("N/A"))));
  std::istringstream lines(run.out);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 21U);
    EXPECT_EQ(row[2], "float");
    EXPECT_EQ(row[8], "0");   // #wrong, out of place
    EXPECT_EQ(row[12], "0");  // in place
    EXPECT_EQ(row[13], "3");  // iterations
  }
  EXPECT_EQ(rows[1][0], "1024");
  EXPECT_EQ(rows[1][1], "256");
}

TEST(Measure, WritesRowsAsCsv) {
  const std::string csv = temporary_file("rows.csv");
  const ProgramRun run = run_program(measure("loopback", {"workload.size=[1KiB]"},
                                             {"--iterations=2", "--warmup=0", "--csv", csv}));
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(text_of(csv),
              AllOf(HasSubstr(",wrong,in_place,iterations,min_us,p50_us,p99_us,profile\n"),
                    HasSubstr(",0,false,2,"), HasSubstr(",0,true,2,")));
}

TEST(Measure, RunsThreadsAtTheSocketOfTheScenario) {
  for (const char* backend : {"loopback", "tcp"}) {
    const nlohmann::json result = measured(backend, 2,
                                           {"workload.size=[1KiB]", "cluster.node=hgx-h100",
                                            "communication.thread_placement=socket0"});
    ASSERT_TRUE(result.contains("notes"));
    const auto notes = result["notes"].get<std::vector<std::string>>();
    EXPECT_THAT(notes, testing::Contains(testing::MatchesRegex(
                           "threads run on processors [0-9,-]+: those of socket0")))
        << backend;
  }
}

TEST(Measure, HoldsRowsAgainstTheScenariosExpectations) {
  const auto with = [](const char* expectation) {
    return run_program(measure("loopback", {"workload.size=[1KiB]", expectation},
                               {"--iterations=1", "--warmup=0"}));
  };
  EXPECT_EQ(with("expect={busbw: \">=1B/s\"}").status, 0);
  const ProgramRun unmet = with("expect={busbw: \">=1TB/s\"}");
  EXPECT_EQ(unmet.status, 3);
  EXPECT_THAT(unmet.err, HasSubstr("busbw"));
}

TEST(Measure, RunsUnderMpirun) {
  if (std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no mpirun";
  std::string command =
      "mpirun --allow-run-as-root --oversubscribe -n 3 " + std::string(GRADHAUL_PROGRAM);
  for (const std::string& word : measure("tcp", {"workload.size=[1KiB]"}, {"--iterations=1"})) {
    command += " '" + word + "'";
  }
  const std::string out = temporary_file("mpirun.out");
  EXPECT_EQ(std::system((command + " > " + out).c_str()), 0);
  const std::string said = text_of(out);
  EXPECT_THAT(said, HasSubstr("(3 ranks)"));
  EXPECT_EQ(said.find("# gradhaul"), said.rfind("# gradhaul")) << "more than one rank speaks";
}

// A host with one socket and one NIC, if any: what holds of the scenario's servers alone is not
// told.
TEST(MeasuredNotes, AreNoneOfTheModel) {
  const std::vector<std::string> settings{"workload.size=[11B]", "cluster.node=hgx-h100",
                                          "cluster.ranks_per_node=1",
                                          "communication.thread_placement=socket0"};
  const auto far = testing::AnyOf(HasSubstr("take no part"), HasSubstr("between sockets"));
  const ProgramRun predicted = run_program([&] {
    std::vector<std::string> arguments = measure("tcp", settings, {});
    arguments[0] = "predict";
    arguments.erase(arguments.begin() + 2, arguments.begin() + 4);  // --backend tcp
    return arguments;
  }());
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  EXPECT_THAT(predicted.out, AllOf(HasSubstr("take no part"), HasSubstr("between sockets")));
  const nlohmann::json notes = measured("tcp", 2, settings)["notes"];
  EXPECT_THAT(notes.dump(), testing::Not(far));
  // As many as the scenario has.
  EXPECT_THAT(notes.dump(), testing::Not(HasSubstr("instead of")));
  // What was run is told.
  EXPECT_THAT(notes.dump(), AllOf(HasSubstr("2 ranks, one a node"),
                                  HasSubstr("size 11B is rounded down to 8 bytes")));
}

TEST(MeasuredTcp, DealsAConnectionOverAsManySocketsAsTheScenarioSays) {
  const std::vector<std::string> settings{"workload.size=[100kB]", "communication.transport=tcp",
                                          "communication.tcp.sockets=4"};
  const nlohmann::json result = measured("tcp", 2, settings);
  EXPECT_EQ(result["engine"]["sockets_per_connection"], "4");
  EXPECT_EQ(result["rows"][0]["wrong"], 0);
  EXPECT_THAT(result["notes"].dump(), testing::Not(HasSubstr("windows are as large")));
}

}  // namespace
}  // namespace gradhaul
