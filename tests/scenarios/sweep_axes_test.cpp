// What --vary and `vary:` say: values, ranges, points.

#include "scenarios/sweep_axes.h"

#include <gmock/gmock.h>

#include "scenarios/sweep_plan.h"
#include "scenarios/value_range.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> range(const std::string& text) {
  const RangeValues range = values_of_range(text);
  EXPECT_EQ(range.error, "") << text;
  return range.values;
}

std::vector<SweepAxis> axes(const std::vector<std::string>& options) {
  Problems problems;
  auto axes = axes_of_options(options, problems);
  for (const Problem& problem : problems.sorted()) ADD_FAILURE() << problem.text();
  return axes;
}

TEST(ValueRange, MultipliesAndAdds) {
  EXPECT_THAT(range("8B..64B:x2"), ElementsAre("8B", "16B", "32B", "64B"));
  EXPECT_THAT(range("1KiB..5KiB:x2"), ElementsAre("1KiB", "2KiB", "4KiB"));
  EXPECT_EQ(range("8B..8GiB:x2").size(), 31U);  // 2^3 … 2^33
  EXPECT_EQ(range("8B..8GiB:x2").back(), "8GiB");
  EXPECT_THAT(range("1..4:+1"), ElementsAre("1", "2", "3", "4"));
  EXPECT_EQ(range("1..64:+1").size(), 64U);
  EXPECT_THAT(range("2..9:+3"), ElementsAre("2", "5", "8"));
  EXPECT_THAT(range("100Gb/s..400Gb/s:x2"), ElementsAre("100Gb/s", "200Gb/s", "400Gb/s"));
  EXPECT_THAT(range("1us..3us:+1us"), ElementsAre("1us", "2us", "3us"));
  EXPECT_THAT(range("10m..30m:+10m"), ElementsAre("10m", "20m", "30m"));
  EXPECT_THAT(range("2..9:x1.5"), ElementsAre("2", "3", "4", "6", "9"));
  EXPECT_THAT(range("0.01..1:x10"), ElementsAre("0.01", "0.1", "1"));
  // Three times 0.1 is not 0.3 in binary fractions.
  EXPECT_THAT(range("0.1..0.3:+0.1"), ElementsAre("0.1", "0.2", "0.3"));
  EXPECT_THAT(range("1..1.2:+0.1"), ElementsAre("1", "1.1", "1.2"));
}

TEST(ValueRange, SaysWhatIsWrong) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"1..4", "FROM..TO:xFACTOR"},
           {"1..4:2", "FROM..TO:xFACTOR"},
           {"4..1:+1", "above its end"},
           {"1KiB..4:x2", "not of the kind"},
           {"1KiB..4KiB:+1", "a step is of the kind"},
           {"1..4:+0", "above 0"},
           {"1..4:x1", "above 1"},
           {"0..4:x2", "not above 0"},
           {"1..100000:+1", "more than 10000"},
           {"red..blue:x2", "not both numbers"},
       }) {
    EXPECT_THAT(values_of_range(text).error, HasSubstr(says)) << text;
  }
}

TEST(Axes, OfTheCommandLineAreListsOrRanges) {
  const auto read = axes({"cluster.nodes=2,4, 8", "workload.size=1KiB..4KiB:x2",
                          "cluster.faults=[],[{link: node0.nic0, speed: 100Gb/s}]"});
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[0].path, "cluster.nodes");
  EXPECT_THAT(read[0].values, ElementsAre("2", "4", "8"));
  EXPECT_THAT(read[1].values, ElementsAre("1KiB", "2KiB", "4KiB"));
  EXPECT_THAT(read[2].values, ElementsAre("[]", "[{link: node0.nic0, speed: 100Gb/s}]"));
  // A path with dots is no range.
  EXPECT_THAT(axes({"cluster.node=../a.yaml,../b.yaml"})[0].values,
              ElementsAre("../a.yaml", "../b.yaml"));
}

TEST(Axes, OfTheCommandLineMustBeUnderstood) {
  for (const auto& [option, says] : std::vector<std::pair<std::string, std::string>>{
           {"cluster.nodes", "PATH=A,B,C"},
           {"=2,4", "PATH=A,B,C"},
           {"cluster.nodes=", "PATH=A,B,C"},
           {"cluster.nodes=2,,4", "an empty value"},
           {"cluster.nodes=2,4,2", "twice"},
           {"cluster.nodes=2..8", "FROM..TO:xFACTOR"},
       }) {
    Problems problems;
    axes_of_options({option}, problems);
    ASSERT_EQ(problems.size(), 1U) << option;
    EXPECT_THAT(problems.sorted()[0].text(), HasSubstr("--vary " + option + ": "));
    EXPECT_THAT(problems.sorted()[0].text(), HasSubstr(says));
  }
  Problems problems;
  axes_of_options({"cluster.nodes=2", "cluster.nodes=4"}, problems);
  EXPECT_THAT(problems.sorted()[0].message, HasSubstr("varied twice"));
}

TEST(Axes, AreAllCombinationsTheLastFirst) {
  const auto two = axes({"a=1,2", "b=x,y,z"});
  EXPECT_EQ(points_of(two), 6U);
  EXPECT_THAT(values_at(two, 0), ElementsAre("1", "x"));
  EXPECT_THAT(values_at(two, 1), ElementsAre("1", "y"));
  EXPECT_THAT(values_at(two, 3), ElementsAre("2", "x"));
  EXPECT_THAT(settings_at(two, 5), ElementsAre("a=2", "b=z"));
  // 10^8 points are more than can be counted here.
  EXPECT_EQ(points_of(axes({"a=1..10000:+1", "b=1..10000:+1"})), kMostSweepPoints + 1);
}

const std::string kVarying = std::string(kSmallScenario) +
                             "vary:\n"
                             "  cluster.nodes: [2, 4]\n"
                             "  workload.size: 1KiB..4KiB:x2\n"
                             "  communication: {channels: [auto, 8], slots: 4}\n"
                             "  communication.slot_size: {from: 64KiB, to: 256KiB, factor: 4}\n"
                             "  cluster.faults: [[]]\n";

TEST(Vary, IsReadFromTheScenario) {
  const Scenario scenario = good(kVarying);
  std::vector<std::string> paths;
  for (const SweepAxis& axis : scenario.axes) paths.push_back(axis.path);
  EXPECT_THAT(paths,
              ElementsAre("cluster.nodes", "workload.size", "communication.channels",
                          "communication.slots", "communication.slot_size", "cluster.faults"));
  EXPECT_THAT(scenario.axes[1].values, ElementsAre("1KiB", "2KiB", "4KiB"));
  EXPECT_THAT(scenario.axes[2].values, ElementsAre("auto", "8"));
  EXPECT_THAT(scenario.axes[3].values, ElementsAre("4"));
  EXPECT_THAT(scenario.axes[4].values, ElementsAre("64KiB", "256KiB"));
  EXPECT_THAT(scenario.axes[5].values, ElementsAre("[]"));
  // Whoever predicts it is told that the scenario holds as it stands.
  ASSERT_FALSE(scenario.notes.empty());
  EXPECT_THAT(scenario.notes.back(), HasSubstr("not its 24 points"));
  EXPECT_EQ(scenario.cluster.nodes, 4);
}

TEST(Vary, IsShownAndReadsBackTheSame) {
  const Scenario scenario = good(kVarying);
  const Scenario again = good(commented_yaml(scenario.filled));
  ASSERT_EQ(again.axes.size(), scenario.axes.size());
  for (std::size_t i = 0; i < again.axes.size(); ++i) {
    EXPECT_EQ(again.axes[i].path, scenario.axes[i].path);
    EXPECT_EQ(again.axes[i].values, scenario.axes[i].values);
  }
  // Nothing is said of what nobody asked for.
  EXPECT_EQ(good(kSmallScenario).filled.find("vary"), nullptr);
  EXPECT_THAT(good(kSmallScenario).axes, IsEmpty());
}

TEST(Vary, MayBeSet) {
  EXPECT_THAT(good(kSmallScenario, {"vary={cluster.nodes: [2, 4]}"}).axes[0].values,
              ElementsAre("2", "4"));
  const Scenario scenario = good(kVarying, {"vary.cluster.nodes=[3]"});
  EXPECT_EQ(scenario.axes.size(), 6U);
  EXPECT_THAT(scenario.axes[0].values, ElementsAre("3"));
}

TEST(Vary, SaysWhereItIsWrong) {
  const std::string head = kSmallScenario;
  EXPECT_THAT(read_text(head + "vary: [1]\n").problems, ElementsAre(HasSubstr("4:7: \"vary\" is")));
  EXPECT_THAT(read_text(head + "vary:\n  cluster.nodes: [2, 2]\n").problems,
              ElementsAre(HasSubstr("5:18: cluster.nodes: 2 stands there twice")));
  EXPECT_THAT(read_text(head + "vary:\n  cluster.nodes: 1..4:*2\n").problems,
              ElementsAre(HasSubstr("FROM..TO:xFACTOR")));
  EXPECT_THAT(read_text(head + "vary:\n  cluster.nodes: []\n").problems,
              ElementsAre(HasSubstr("no values")));
}

SweepPlan plan_of(const std::string& text, const std::vector<std::string>& vary) {
  const std::string path = temporary_file("sweep.yaml");
  write_text(path, text);
  SweepOptions options;
  options.scenario = path;
  options.vary = vary;
  return sweep_plan_of(options, GRADHAUL_SCENARIOS, "1");
}

TEST(SweepPlan, JoinsAxesOfFileAndCommandLine) {
  const SweepPlan plan = plan_of(std::string(kSmallScenario) + "vary: {cluster.nodes: [2, 4]}\n",
                                 {"workload.size=1KiB,2KiB", "cluster.nodes=3"});
  ASSERT_EQ(plan.axes.size(), 2U);
  EXPECT_THAT(plan.axes[0].values, ElementsAre("3"));
  EXPECT_EQ(plan.points, 2U);
  EXPECT_EQ(scenario_at(plan, 1).cluster.nodes, 3);
  EXPECT_EQ(scenario_at(plan, 1).workload.sizes[0], Bytes{2048});
  // A point is one scenario, not a sweep.
  EXPECT_THAT(scenario_at(plan, 1).axes, IsEmpty());
  EXPECT_THAT(scenario_at(plan, 1).notes, IsEmpty());
}

TEST(SweepPlan, NeedsNoScenarioThatIsWholeWithoutItsAxes) {
  const std::string sizeless =
      "workload: {collective: all_reduce}\n"
      "cluster: {nodes: 4, node: hgx-h100, network: ndr}\n";
  EXPECT_EQ(plan_of(sizeless, {"workload.size=1KiB,2KiB"}).scenario.workload.sizes[0], Bytes{1024});
}

TEST(SweepPlan, RefusesWhatIsWrongAtEveryPoint) {
  try {
    plan_of(kSmallScenario, {"cluster.netwrk.mtu=1024B,2048B"});
    FAIL() << "no such key";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.problems()[0].text(),
                HasSubstr("--vary cluster.netwrk.mtu=1024B: unknown key"));
  }
  EXPECT_THROW(plan_of(kSmallScenario, {}), ConfigError);
  // One point that is wrong is for that point.
  EXPECT_EQ(plan_of(kSmallScenario, {"cluster.network.mtu=1024,4096B"}).points, 2U);
}

TEST(SweepPlan, KeysSayWhatDecides) {
  const SweepPlan plan = plan_of(kSmallScenario, {"cluster.nodes=2,4"});
  const std::string two = key_of(plan, scenario_at(plan, 0));
  EXPECT_NE(two, key_of(plan, scenario_at(plan, 1)));
  // Other axes make other points, but the same point stays what it is.
  const SweepPlan more = plan_of(kSmallScenario, {"cluster.nodes=8,2", "simulation.seed=1"});
  EXPECT_EQ(two, key_of(more, scenario_at(more, 1)));
  EXPECT_NE(plan.likeness, more.likeness);
  SweepPlan other = plan;
  other.version = "2";
  EXPECT_NE(two, key_of(other, scenario_at(other, 0)));
}

}  // namespace
}  // namespace gradhaul
