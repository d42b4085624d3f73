// Matrices of pairs: times in, suspects out.

#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "analysis/pair_matrix.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 1000 B in 1 us, times what `slowness` says of (nic, from, to).
PairMatrix matrix_of(int nodes, int nics, const std::function<double(int, int, int)>& slowness) {
  PairMatrix matrix;
  matrix.scenario = "pairs";
  matrix.backend = "verbs";
  matrix.nodes = nodes;
  matrix.settings.nics = nics;
  matrix.settings.size = {1000};
  for (int nic = 0; nic < nics; ++nic) {
    for (int from = 0; from < nodes; ++from) {
      for (int to = 0; to < nodes; ++to) {
        if (from == to) continue;
        const double us = slowness(nic, from, to);
        const Duration time{static_cast<std::int64_t>(us * 1e6)};
        matrix.times.push_back({nic, from, to, time, time});
      }
    }
  }
  return matrix;
}

std::vector<std::string> suspects(const PairMatrix& matrix) {
  std::vector<std::string> sentences;
  for (const Suspect& suspect : suspects_of(matrix)) sentences.push_back(sentence_of(suspect));
  return sentences;
}

TEST(PairSuspects, AreNoneWhereAllAreAlike) {
  EXPECT_THAT(suspects(matrix_of(4, 1, [](int, int, int) { return 1; })), IsEmpty());
  // A tenth less bandwidth is within the tolerance: 1 / 0.91.
  EXPECT_THAT(suspects(matrix_of(4, 1, [](int, int a, int b) { return a + b == 1 ? 1.09 : 1; })),
              IsEmpty());
}

// One way all are alike; both ways at once, whatever node 2 takes part in takes twice as long.
TEST(PairSuspects, AreFoundWhereOnlyBothWaysAtOnceAreSlow) {
  PairMatrix matrix = matrix_of(4, 1, [](int, int, int) { return 1; });
  for (PairTime& time : matrix.times) {
    if (time.from == 2 || time.to == 2) time.both_ways = time.both_ways * 2;
  }
  EXPECT_THAT(suspects(matrix),
              ElementsAre("node2 is suspect when both ways go at once: what it sends and what it "
                          "receives is at 50 % of the upper quartile"));
  // A pair is told once, not each way.
  matrix = matrix_of(4, 1, [](int, int, int) { return 1; });
  for (PairTime& time : matrix.times) {
    if (time.from + time.to == 1) time.both_ways = time.both_ways * 2;
  }
  EXPECT_THAT(suspects(matrix), ElementsAre("node0 to node1 when both ways go at once is slow by "
                                            "itself: at 50 % of the upper quartile"));
  // What one way explains is not told again.
  matrix = matrix_of(4, 1, [](int, int a, int b) { return a == 0 && b == 1 ? 2 : 1; });
  for (PairTime& time : matrix.times) {
    if (time.from + time.to == 1) time.both_ways = time.both_ways * 2;
  }
  EXPECT_THAT(suspects(matrix), testing::SizeIs(1));
}

TEST(PairSuspects, AreNodesWhoseRowsAndColumnsAreSlow) {
  EXPECT_THAT(
      suspects(matrix_of(4, 1, [](int, int a, int b) { return a == 2 || b == 2 ? 2 : 1; })),
      ElementsAre(
          "node2 is suspect: what it sends and what it receives is at 50 % of the upper quartile"));
  // Of three nodes, two thirds of all pairs are the bad one's.
  EXPECT_THAT(
      suspects(matrix_of(3, 1, [](int, int a, int b) { return a == 0 || b == 0 ? 2 : 1; })),
      ElementsAre("node0 is suspect: what it sends and what it receives is at 50 % of the upper "
                  "quartile"));
  EXPECT_THAT(suspects(matrix_of(4, 1, [](int, int a, int) { return a == 2 ? 4 : 1; })),
              ElementsAre("node2 is suspect: what it sends is at 25 % of the upper quartile"));
  EXPECT_THAT(suspects(matrix_of(5, 1, [](int, int, int b) { return b == 0 ? 4 : 1; })),
              ElementsAre("node0 is suspect: what it receives is at 25 % of the upper quartile"));
  // By one of two NICs.
  EXPECT_THAT(
      suspects(matrix_of(
          4, 2, [](int nic, int a, int b) { return nic == 1 && (a == 3 || b == 3) ? 2 : 1; })),
      ElementsAre("node3 is suspect by nic1: what it sends and what it receives is at 50 % of the "
                  "upper quartile"));
}

TEST(PairSuspects, AreSinglePairsOtherwise) {
  EXPECT_THAT(suspects(matrix_of(4, 1, [](int, int a, int b) { return a == 1 && b == 3 ? 2 : 1; })),
              ElementsAre("node1 to node3 is slow by itself: at 50 % of the upper quartile"));
  // Of two nodes nobody can say which of both it is.
  EXPECT_THAT(suspects(matrix_of(2, 1, [](int, int a, int) { return a == 1 ? 2 : 1; })),
              ElementsAre("node1 to node0 is slow by itself: at 50 % of the upper quartile"));
}

TEST(PairSuspects, AreRailsAndLeavesThatNodesShare) {
  EXPECT_THAT(suspects(matrix_of(4, 4, [](int nic, int, int) { return nic == 2 ? 2 : 1; })),
              ElementsAre("nic2 is suspect in all nodes, or the switches of its rail: at 50 % of "
                          "the upper quartile"));
  // Eight nodes at four leaves; what passes leaf3's uplinks is slow, within it all is well.
  PairMatrix matrix =
      matrix_of(8, 1, [](int, int a, int b) { return (a / 2 == 3) != (b / 2 == 3) ? 2 : 1; });
  matrix.leaves = {{0, 0, 1, 1, 2, 2, 3, 3}};
  EXPECT_THAT(suspects(matrix),
              ElementsAre("leaf3 is suspect, or its uplinks: what passes them is at 50 % of the "
                          "upper quartile"));
}

TEST(PairMatrixFile, HoldsPairsMedianAndWorst) {
  PairMatrix matrix = matrix_of(3, 1, [](int, int a, int b) { return a == 0 && b == 2 ? 4 : 1; });
  matrix.predicted.assign(6, Duration{500'000});
  const auto json = nlohmann::json::parse(pair_matrix_json(matrix, "1.2.3"));
  EXPECT_EQ(json["schema"], "gradhaul.pairs/1");
  EXPECT_EQ(json["pairs"].size(), 6U);
  EXPECT_DOUBLE_EQ(json["pairs"][0]["one_way_GBps"], 1.0);
  EXPECT_DOUBLE_EQ(json["pairs"][0]["ratio"], 2.0);
  EXPECT_DOUBLE_EQ(json["median_GBps"], 1.0);
  EXPECT_EQ(json["worst"]["from"], 0);
  EXPECT_EQ(json["worst"]["to"], 2);
  EXPECT_DOUBLE_EQ(json["worst"]["GBps"], 0.25);
  EXPECT_EQ(json["suspects"].size(), 1U);
  EXPECT_EQ(json["suspects"][0]["kind"], "pair");
  EXPECT_THAT(pair_matrix_text(matrix, "1.2.3"),
              HasSubstr("# Predicted: 2.00 GB/s for every pair."));
}

}  // namespace
}  // namespace gradhaul
