// Algorithms and programs from files: read, checked, and told where they are wrong.

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "core/goal_program.h"
#include "core/listed_program.h"
#include "scenarios/goal_reader.h"
#include "scenarios/msccl_reader.h"
#include "tests/core/listed_examples.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string scenario_of(const std::string& file, const std::string& more = "") {
  return "workload: {size: 1MiB" + more + "}\ncluster: {nodes: 4, node: ideal, network: ideal}\n" +
         "communication: {algorithm: " + file + "}\n";
}

std::string written(const std::string& text, const std::string& name) {
  const std::string path = temporary_file(name);
  write_text(path, text);
  return path;
}

TEST(AlgorithmFile, IsReadWithItsChannelsAndProtocol) {
  std::string text = listed::msccl_text(listed::ring_all_reduce(4, 2));
  text.replace(text.find("Simple"), 6, "LL128");
  const Scenario scenario = good(scenario_of(written(text, "a.xml")));
  ASSERT_NE(scenario.communication.listed, nullptr);
  EXPECT_EQ(scenario.communication.listed->name, "ring");
  EXPECT_EQ(scenario.communication.channels, 2);
  EXPECT_EQ(scenario.communication.protocol, Protocol::kLl128);
}

TEST(AlgorithmFile, RoundsSizesToWholeChunks) {
  const std::string file = written(listed::msccl_text(listed::ring_all_reduce(4, 2)), "a.xml");
  const Scenario scenario = good(scenario_of(file), {"workload.size=1000016B"});
  EXPECT_EQ(scenario.workload.sizes.at(0).count, 1'000'000 / 32 * 32);
  EXPECT_THAT(scenario.notes.back(), HasSubstr("8 equal chunks of ring"));
  const Reading small = read_text(scenario_of(file), {"workload.size=31B"});
  ASSERT_FALSE(small.problems.empty());
  EXPECT_THAT(small.problems[0], HasSubstr("at least one element, 32 bytes"));
}

// In one file, all that is wrong; with lines of the file itself.
TEST(AlgorithmFile, IsToldWhatIsWrongAndWhere) {
  const std::string right = listed::msccl_text(listed::all_pairs(4, 0));
  const auto problems_of = [&](const std::string& from, const std::string& to,
                               const std::vector<std::string>& settings = {}) {
    std::string text = right;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    const std::string file = written(text, "wrong.xml");
    std::string all;
    for (std::string problem : read_text(scenario_of(file), settings).problems) {
      const std::size_t name = problem.find(file);
      if (name == 0) problem.erase(0, file.size());
      all += problem + "\n";
    }
    return all;
  };
  EXPECT_THAT(problems_of("<algo", "<algorithm"), HasSubstr("no XML: "));
  EXPECT_THAT(problems_of("type=\"s\"", "type=\"rsr\""),
              HasSubstr(":4:8: <step> type: \"rsr\" is none of s, r, rcs, rrc, rrs"));
  EXPECT_THAT(problems_of("srcoff=\"1\"", "srcoff=\"x\""), HasSubstr(":4:8: <step> srcoff: \"x\""));
  EXPECT_THAT(problems_of("srcoff=\"1\"", "srcoff=\"4\""),
              HasSubstr(":4:1: source: chunks 4 to 4 of a buffer of 4"));
  EXPECT_THAT(problems_of("ngpus=\"4\"", "ngpus=\"5\""), HasSubstr(":1:2: <algo> ngpus is 5"));
  EXPECT_THAT(problems_of("depid=\"3\" deps=\"2\"", "depid=\"-1\" deps=\"-1\""),
              HasSubstr(":22:1: writes to a chunk that thread block 0 may still be reading in"));
  EXPECT_THAT(problems_of("coll=\"allreduce\"", "coll=\"alltoall\""),
              HasSubstr("is an algorithm of all_to_all, and workload.collective is all_reduce"));
  EXPECT_THAT(problems_of("<algo", "<algo", {"cluster.nodes=5"}),
              HasSubstr("is for 4 ranks, and the cluster has 5"));
  EXPECT_THAT(problems_of("<algo", "<algo", {"communication.channels=2"}),
              HasSubstr("channels: all_pairs has 1"));
  EXPECT_THAT(problems_of("<algo", "<algo", {"simulation.fidelity=flow"}),
              HasSubstr("only packet runs an algorithm from a file"));
  EXPECT_THAT(read_text(scenario_of("none.xml")).problems.at(0), HasSubstr("No such file"));
}

// Two ranks take in what the other sends once they have sent all of their own four chunks: with
// four slots that is possible, with three they wait for each other for ever.
TEST(AlgorithmFile, IsPlayedWithTheSlotsThatItHas) {
  ListedAlgorithm algorithm = listed::begin("greedy", Collective::kAllToAll, 2, 8, false);
  for (int r = 0; r < 2; ++r) {
    ListedBlock sends;
    ListedBlock receives;
    ListedBlock copies;
    sends.sends_to = receives.receives_from = 1 - r;
    for (int k = 0; k < 4; ++k) {
      const ListedChunk theirs{listed::kI, 4 * (1 - r) + k};
      const ListedChunk target{listed::kO, 4 * (1 - r) + k};
      const ListedChunk own{listed::kO, 4 * r + k};
      sends.steps.push_back(listed::step(ListedAction::kSend, theirs, own));
      receives.steps.push_back(listed::step(ListedAction::kReceive, target, target, 0, 3));
      copies.steps.push_back(listed::step(ListedAction::kCopy, {listed::kI, own.index}, own));
    }
    algorithm.ranks[static_cast<std::size_t>(r)].blocks = {sends, receives, copies};
  }
  const std::string file = written(listed::msccl_text(algorithm), "greedy.xml");
  const std::string text = scenario_of(file, ", collective: all_to_all");
  EXPECT_THAT(read_text(text, {"cluster.nodes=2", "communication.slots=4"}).problems,
              ElementsAre());
  EXPECT_THAT(read_text(text, {"cluster.nodes=2", "communication.slots=3"}).problems,
              ElementsAre(HasSubstr("greedy does not come to its end with 3 slots")));
}

constexpr const char* kGoal =
    "num_ranks 2  # a comment\n"
    "rank 0 {\n"
    "  l1: calc 100 cpu 0\n"
    "  l2: send 8b to 1 tag 42 nic 0 /* another,\n"
    "  of two lines */\n"
    "  l2 requires l1\n"
    "}\n"
    "rank 1 {\n"
    "  l1: recv 8b from 0 tag 42 // one more\n"
    "  l2: calc 20ns\n"
    "  l2 irequires l1\n"
    "}\n";

#ifdef __SANITIZE_ADDRESS__
constexpr int kMutations = 400;
#else
constexpr int kMutations = 4000;
#endif

// With a few characters changed, lost or doubled, as a file may be that somebody wrote by hand.
std::string mutated(std::string text, std::mt19937& random) {
  constexpr std::string_view kLikely = "0123456789-\"<>/= \n{}:lbirsocx";
  const auto below = [&](std::size_t bound) { return random() % bound; };
  for (std::size_t i = 0, changes = 1 + below(4); i < changes; ++i) {
    const std::size_t at = below(text.size());
    switch (below(4)) {
      case 0:
        text[at] = kLikely[below(kLikely.size())];
        break;
      case 1:
        text.erase(at, 1 + below(40));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), below(80)));
        break;
      default:
        text.insert(at, 1, kLikely[below(kLikely.size())]);
    }
  }
  return text;
}

// It is right, or it is told what is wrong with it.
TEST(AlgorithmFile, IsReadOrRefusedWhateverItHolds) {
  const std::string right = listed::msccl_text(listed::all_pairs(3, 1));
  std::mt19937 random(1);
  int ran = 0;
  for (int i = 0; i < kMutations; ++i) {
    Problems problems;
    const auto read = read_msccl(mutated(right, random), "mutated.xml", problems);
    EXPECT_NE(read.has_value(), !problems.empty());
    if (!read) continue;
    std::vector<ListedProblem> found;
    check_listed_shape(read->algorithm, found);
    if (found.empty() && listed_program(read->algorithm, found) != nullptr) ++ran;
  }
  EXPECT_GT(ran, 0);
}

TEST(GoalFile, IsReadOrRefusedWhateverItHolds) {
  std::mt19937 random(1);
  int ran = 0;
  for (int i = 0; i < kMutations; ++i) {
    Problems problems;
    const auto read = read_goal(mutated(kGoal, random), "mutated.goal", problems);
    EXPECT_NE(read.has_value(), !problems.empty());
    if (!read) continue;
    std::vector<int> gpus(read->ranks.size());
    std::iota(gpus.begin(), gpus.end(), 0);
    std::vector<GoalProblem> found;
    goal_tasks(*read, gpus, {}, found);
    if (found.empty()) ++ran;
  }
  EXPECT_GT(ran, 0);
}

Reading goal_reading(const std::string& text, const std::vector<std::string>& settings = {}) {
  const std::string file = written(text, "program.goal");
  Reading reading = read_text(
      "workload: {goal: " + file + "}\ncluster: {nodes: 2, node: ideal, network: ideal}\n",
      settings);
  for (std::string& problem : reading.problems) {
    if (problem.starts_with(file)) problem.erase(0, file.size() + 1);
  }
  return reading;
}

TEST(GoalFile, IsReadAsItIsWritten) {
  const Reading reading = goal_reading(kGoal);
  EXPECT_THAT(reading.problems, ElementsAre());
  ASSERT_NE(reading.scenario.goal, nullptr);
  const GoalProgram& program = *reading.scenario.goal;
  ASSERT_EQ(program.ranks.size(), 2U);
  const GoalOperation& sends = program.ranks[0].at(1);
  EXPECT_EQ(sends.kind, GoalKind::kSend);
  EXPECT_EQ(sends.peer, 1);
  EXPECT_EQ(sends.bytes.count, 8);
  EXPECT_EQ(sends.tag, 42);
  EXPECT_EQ(sends.line, 4);
  EXPECT_THAT(sends.after, ElementsAre(0));
  EXPECT_EQ(program.ranks[0][0].work.ps, 100'000);
  EXPECT_EQ(program.ranks[1].at(1).work.ps, 20'000);
  EXPECT_THAT(program.ranks[1][1].after_start, ElementsAre(0));
  EXPECT_EQ(program.bytes_sent_per_rank().count, 8);
}

TEST(GoalFile, IsToldWhatIsWrongAndWhere) {
  const auto problem_of = [](const std::string& from, const std::string& to) {
    std::string text = kGoal;
    text.replace(text.find(from), from.size(), to);
    const Reading reading = goal_reading(text);
    EXPECT_FALSE(reading.problems.empty()) << to;
    return reading.problems.empty() ? "" : reading.problems[0];
  };
  EXPECT_THAT(problem_of("num_ranks 2", "num_ranks x"),
              HasSubstr("1:11: \"x\": expected a number of ranks, from 1 to"));
  EXPECT_THAT(problem_of("send 8b", "post 8b"), HasSubstr("4:7: \"post\": expected send, recv"));
  EXPECT_THAT(problem_of("to 1", "to 0"), HasSubstr("4:18: \"0\": a rank sends nothing to itself"));
  EXPECT_THAT(problem_of("to 1", "to 2"), HasSubstr("4:18: \"2\": expected a rank, from 0 to 1"));
  EXPECT_THAT(problem_of("requires l1", "requires l3"),
              HasSubstr("6:15: \"l3\": no operation of this rank"));
  EXPECT_THAT(problem_of("l2: send", "l1: send"), HasSubstr("4:3: \"l1\": a second operation"));
  EXPECT_THAT(problem_of("rank 1", "rank 0"), HasSubstr("this rank has been listed before"));
  EXPECT_THAT(problem_of("irequires l1\n}", "irequires l1\n"), HasSubstr("the file ends here"));
  EXPECT_THAT(problem_of("recv 8b", "recv 16b"),
              HasSubstr("4:1: 8 bytes, and rank 1, l1 receives"));
  EXPECT_THAT(goal_reading(kGoal, {"cluster.nodes=1"}).problems.size(), testing::Ge(1U));
  EXPECT_THAT(goal_reading(kGoal, {"workload.goal=none.goal"}).problems.at(0),
              HasSubstr("No such file"));
  const Reading both = read_text(
      "workload: {goal: x.goal, size: 1MiB}\n"
      "cluster: {nodes: 2, node: ideal, network: ideal}\n");
  EXPECT_THAT(both.problems.front(), HasSubstr("No such file"));
  EXPECT_THAT(both.problems.back(), HasSubstr("is of one collective"));
}

}  // namespace
}  // namespace gradhaul
