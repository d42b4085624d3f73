#include "backends/bootstrap/failure_order.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

Rank culprit(const std::vector<RankFailure>& reports) {
  const RankFailure cause = by_likeliest_cause(reports).front();
  return cause.peer < 0 ? cause.rank : cause.peer;
}

TEST(FailureOrder, WhoTellsOfItselfIsTheCause) {
  EXPECT_EQ(culprit({{1, 2, "reset"}, {0, 2, "gone"}, {2, -1, "out of memory"}}), 2);
  EXPECT_EQ(by_likeliest_cause({{1, 2, "reset"}, {2, -1, "out of memory"}}).front().what,
            "out of memory");
}

// Rank 3 is stopped: 0 waits for its data, 2 for its slots, and 1 for what 0 does not send.
TEST(FailureOrder, WhoSaysNothingIsTheCauseOfAStall) {
  EXPECT_EQ(culprit({{1, 0, "waits"}, {2, 3, "waits"}, {0, 3, "waits"}}), 3);
}

TEST(FailureOrder, TheEarlierReportIsNearerToTheCause) {
  EXPECT_EQ(culprit({{1, 0, "first"}, {0, 1, "second"}}), 0);
  EXPECT_EQ(culprit({{0, 1, "first"}, {1, 0, "second"}}), 1);
}

TEST(FailureOrder, KeepsTheFirstReportOfEachRank) {
  const auto ordered = by_likeliest_cause({{1, 2, "a"}, {1, 3, "b"}, {0, 2, "c"}});
  ASSERT_EQ(ordered.size(), 2U);
  EXPECT_EQ(ordered[0].what, "a");
  EXPECT_EQ(ordered[1].what, "c");
}

TEST(FailureOrder, OfNothingIsNothing) { EXPECT_TRUE(by_likeliest_cause({}).empty()); }

}  // namespace
}  // namespace gradhaul
