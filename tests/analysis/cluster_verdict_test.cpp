// Pairs and rings beside their predictions.

#include "analysis/cluster_verdict.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace gradhaul {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::Not;

ClusterVerdict verdict_of(Duration pair, Duration ring) {
  ClusterVerdict verdict;
  verdict.pairs.scenario = "mine";
  verdict.pairs.backend = "verbs";
  verdict.pairs.settings.size = {1'000'000};
  verdict.pairs.times = {{.from = 0, .to = 1, .one_way = 100_us, .both_ways = 100_us},
                         {.from = 1, .to = 0, .one_way = pair, .both_ways = 100_us}};
  verdict.pairs.predicted = {100_us, 100_us};
  verdict.rings = {{.nodes = 2, .size = {4096}, .measured = ring, .predicted = 10_us}};
  return verdict;
}

// 10 % over is within 10 %.
TEST(ClusterVerdict, PassesWithinTheTolerance) {
  const ClusterVerdict verdict = verdict_of(110_us, 11_us);
  EXPECT_TRUE(verdict.all_pass());
  const std::string text = cluster_verdict_text(verdict);
  EXPECT_THAT(text, HasSubstr("2 of 2 pairs pass"));
  EXPECT_THAT(text, Not(HasSubstr("FAIL")));
  const auto json = nlohmann::json::parse(cluster_verdict_json(verdict, "1"));
  EXPECT_EQ(json["pass"], true);
  EXPECT_EQ(json["schema"], "gradhaul.cluster_check/1");
}

TEST(ClusterVerdict, FailsBeyondIt) {
  const ClusterVerdict slow_pair = verdict_of(111_us, 10_us);
  EXPECT_FALSE(slow_pair.all_pass());
  EXPECT_THAT(cluster_verdict_text(slow_pair), HasSubstr("1 of 2 pairs pass"));
  const ClusterVerdict slow_ring = verdict_of(50_us, 12_us);
  EXPECT_FALSE(slow_ring.all_pass());
  const auto json = nlohmann::json::parse(cluster_verdict_json(slow_ring, "1"));
  EXPECT_EQ(json["pairs"][1]["pass"], true);
  EXPECT_EQ(json["rings"][0]["pass"], false);
}

// 100 us one way, and with something coming the other way more than a tenth longer.
TEST(ClusterVerdict, JudgesBothWaysToo) {
  ClusterVerdict verdict = verdict_of(100_us, 10_us);
  verdict.pairs.times[0].both_ways = verdict.pairs.times[1].both_ways = 120_us;
  EXPECT_FALSE(verdict.all_pass());
  EXPECT_THAT(cluster_verdict_text(verdict), HasSubstr("0 of 2 pairs pass"));
  const auto json = nlohmann::json::parse(cluster_verdict_json(verdict, "1"));
  EXPECT_EQ(json["pairs"][0]["one_way_pass"], true);
  EXPECT_EQ(json["pairs"][0]["both_ways_pass"], false);
}

TEST(ClusterVerdict, TellsHostsThatAreAlikeTogether) {
  const std::string text = hosts_text(
      {{"a", {0, 1}, "fine\n", "{}"}, {"b", {2}, "a fault\n", "{}"}, {"c", {3}, "fine\n", "{}"}});
  EXPECT_THAT(text, HasSubstr("# Hosts a (ranks 0, 1); c (rank 3):\nfine\n"));
  EXPECT_THAT(text, HasSubstr("# Host b (rank 2):\na fault\n"));
}

}  // namespace
}  // namespace gradhaul
