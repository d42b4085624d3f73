// Rounds in which everybody meets everybody once.

#include "core/tournament.h"

#include <gtest/gtest.h>

#include <set>

namespace gradhaul {
namespace {

TEST(Tournament, HasEveryPairOnceAndNobodyTwiceInARound) {
  for (int n = 0; n <= 33; ++n) {
    SCOPED_TRACE(n);
    const auto rounds = tournament(n);
    // n - 1 rounds of n / 2 pairs; of odd n, n rounds of (n - 1) / 2.
    EXPECT_EQ(rounds.size(), static_cast<std::size_t>(n < 2 ? 0 : n - 1 + n % 2));
    std::set<std::pair<int, int>> met;
    for (const auto& round : rounds) {
      EXPECT_EQ(round.size(), static_cast<std::size_t>(n / 2));
      std::set<int> busy;
      for (const auto& [one, other] : round) {
        EXPECT_LT(one, other);
        EXPECT_GE(one, 0);
        EXPECT_LT(other, n);
        EXPECT_TRUE(busy.insert(one).second);
        EXPECT_TRUE(busy.insert(other).second);
        EXPECT_TRUE(met.insert({one, other}).second);
      }
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(n * (n - 1) / 2));
  }
}

}  // namespace
}  // namespace gradhaul
