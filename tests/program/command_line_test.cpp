// Verbs, options and exit statuses of the program.

#include <gmock/gmock.h>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

TEST(CommandLine, HelpAndVersionAreDone) {
  const ProgramRun help = run_program({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"predict", "show", "check", "measure", "import"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_EQ(run_program({"predict", "--help"}).status, 0);
  const ProgramRun version = run_program({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, MatchesRegex("gradhaul [0-9.]+\n"));
}

TEST(CommandLine, NothingIsNotEnough) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {}, {"predict"}, {"explain"}, {"show"}, {"check"}, {"--no-such-option"}}) {
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, Not(IsEmpty()));
  }
}

TEST(CommandLine, UnknownVerbsAreGuessed) {
  const ProgramRun run = run_program({"perdict", "quick"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("did you mean \"predict\"?"));
}

TEST(CommandLine, WrongOptionsAreRefused) {
  EXPECT_EQ(run_program({"predict", "quick", "--progress", "maybe"}).status, 2);
  EXPECT_EQ(run_program({"predict", "quick", "--json"}).status, 2);
  EXPECT_EQ(run_program({"predict", "quick", "link-test"}).status, 2);
  EXPECT_EQ(run_program({"show", "quick", "--json", "x"}).status, 2);
}

TEST(CommandLine, SettingsStandAnywhereAndKeepTheirBrackets) {
  const ProgramRun before = run_program({"show", "--set", "workload.size=[1MiB, 2MiB]", "quick"});
  EXPECT_EQ(before.status, 0) << before.err;
  EXPECT_THAT(before.out, HasSubstr("size: [1MiB, 2MiB]"));
  const ProgramRun after = run_program({"show", "quick", "--set=communication.slots=3", "--set",
                                        "communication.ring_order=[[0, 1], [1, 0]]", "--set",
                                        "cluster.ranks_per_node=1"});
  EXPECT_EQ(after.status, 0) << after.err;
  EXPECT_THAT(after.out, HasSubstr("slots: 3"));
  EXPECT_THAT(after.out, HasSubstr("ring_order: [[0, 1], [1, 0]]"));
}

TEST(Check, TakesManyAndReportsAll) {
  const std::string bad = temporary_file("bad.yaml");
  write_text(bad, "workload: {size: 1}\ncluster: {nodes: 0, node: hgx-h100, network: ndr}\n");
  const ProgramRun run = run_program({"check", "quick", bad, "link-test"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.out, HasSubstr("quick.yaml: good\n"));
  EXPECT_THAT(run.out, HasSubstr("link-test.yaml: good\n"));
  EXPECT_THAT(run.err, HasSubstr(bad + ":1:18: size: \"1\" has no unit"));
  EXPECT_THAT(run.err, HasSubstr(bad + ":2:18: nodes: 0 is out of range"));
}

TEST(Check, IsDoneWhenAllIsGood) {
  const ProgramRun run = run_program({"check", "quick", GRADHAUL_SCENARIOS "/7b-32gpu.yaml"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, IsEmpty());
}

TEST(Check, ReportsOptionsAtTheOption) {
  const ProgramRun run = run_program({"check", "quick", "--set", "cluster.network.mtu=1024"});
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, testing::StartsWith("--set cluster.network.mtu=1024: mtu: \"1024\" has no "
                                           "unit; "));
}

TEST(Show, ReadsBackTheSame) {
  const std::string first = temporary_file("first.yaml");
  write_text(first, run_program({"show", "7b-32gpu"}).out);
  const ProgramRun again = run_program({"show", first});
  EXPECT_EQ(again.status, 0) << again.err;
  // The comments say where values come from, and that has changed.
  const auto values = [](const std::string& text) {
    std::string kept;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, std::min(line.find("  #"), line.find("# ")));
      kept += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return kept;
  };
  EXPECT_EQ(values(again.out), values(text_of(first)));
  EXPECT_THAT(again.out, HasSubstr("# 32 ranks on 4 nodes of hgx-h100"));
}

TEST(Show, DrawsIntoAFile) {
  const std::string dot = temporary_file("topology.dot");
  EXPECT_EQ(run_program({"show", "quick", "--dot", dot}).status, 0);
  EXPECT_THAT(text_of(dot), testing::StartsWith("graph gradhaul {"));
  const ProgramRun unwritable = run_program({"show", "quick", "--dot", "/no/such/folder/x.dot"});
  EXPECT_EQ(unwritable.status, 2);
  EXPECT_THAT(unwritable.err, HasSubstr("/no/such/folder/x.dot"));
}

TEST(Output, ThatIsFullIsAFailure) {
  for (const char* verb : {"show", "check"}) {
    const ProgramRun run = run_program({verb, "quick"}, {.out = "/dev/full"});
    EXPECT_EQ(run.status, 1) << verb;
    EXPECT_THAT(run.err, HasSubstr("standard output could not be written"));
  }
}

}  // namespace
}  // namespace gradhaul
