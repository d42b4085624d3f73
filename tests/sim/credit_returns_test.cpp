#include "sim/credit_returns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using examples::Draws;

// What the class stands for: one number for each credit, the time from which it is usable.
class CreditList {
 public:
  explicit CreditList(std::int64_t window) : times_(static_cast<std::size_t>(window), 0) {}

  void add(const CreditRun& run) {
    for (std::int64_t i = 0; i < run.units; ++i) times_.push_back(run.first + run.spacing * i);
    std::sort(times_.begin(), times_.end());
  }
  std::int64_t available(std::int64_t now) const {
    return std::upper_bound(times_.begin(), times_.end(), now) - times_.begin();
  }
  std::int64_t known() const { return static_cast<std::int64_t>(times_.size()); }
  std::int64_t gapless(std::int64_t now, std::int64_t unit_time, std::int64_t units) const {
    std::int64_t found = 0;
    while (found < std::min(units, known()) && time(found) <= now + found * unit_time) ++found;
    return found;
  }
  std::int64_t start_for(std::int64_t now, std::int64_t unit_time, std::int64_t units) const {
    std::int64_t start = now;
    for (std::int64_t i = 0; i < units; ++i) start = std::max(start, time(i) - i * unit_time);
    return start;
  }
  std::int64_t time_of(std::int64_t now, std::int64_t units) const {
    return std::max(now, time(units - 1));
  }
  void take(std::int64_t units) { times_.erase(times_.begin(), times_.begin() + units); }

 private:
  std::int64_t time(std::int64_t i) const { return times_[static_cast<std::size_t>(i)]; }
  std::vector<std::int64_t> times_;
};

TEST(CreditReturns, WithoutAWindowGuardsNothing) {
  CreditReturns none;
  EXPECT_FALSE(none.guarded());
  CreditReturns some;
  some.start_with(3);
  EXPECT_TRUE(some.guarded());
  EXPECT_EQ(some.window(), 3);
  EXPECT_EQ(some.available(), 3);
  EXPECT_EQ(some.known(), 3);
}

TEST(CreditReturns, CountsOnWhatWillBeBackInTime) {
  CreditReturns credits;
  credits.start_with(8);
  credits.take(6);  // 2 left
  credits.add({1000, 10, 4, 7});
  EXPECT_EQ(credits.known(), 6);
  EXPECT_EQ(credits.available(), 2);
  // One unit every 100: the third needs its credit at 200, which is back at 1000.
  EXPECT_EQ(credits.gapless(0, 100, 6), 2);
  // From 800: the third at 1000, the others as they come.
  EXPECT_EQ(credits.gapless(800, 100, 6), 6);
  EXPECT_EQ(credits.gapless(799, 100, 6), 2);
  EXPECT_EQ(credits.start_for(0, 100, 6), 800);
  EXPECT_EQ(credits.start_for(0, 100, 2), 0);
  // Units that follow each other faster than their credits: the last decides.
  EXPECT_EQ(credits.start_for(0, 1, 6), 1030 - 5);
  EXPECT_EQ(credits.gapless(1024, 1, 6), 5);
  EXPECT_EQ(credits.time_of(0, 3), 1000);
  EXPECT_EQ(credits.time_of(0, 6), 1030);
  credits.absorb(1015);
  EXPECT_EQ(credits.available(), 4);
  EXPECT_EQ(credits.known(), 6);
  EXPECT_EQ(credits.culprit(INT64_MAX), 7);
  credits.take(5);
  EXPECT_EQ(credits.available(), 0);
  EXPECT_EQ(credits.known(), 1);
  EXPECT_EQ(credits.time_of(0, 1), 1030);
}

TEST(CreditReturnsDeathTest, NeverHoldsLessThanNothingOrMoreThanItsWindow) {
  CreditReturns credits;
  credits.start_with(2);
  EXPECT_DEATH(credits.take(3), "never negative");
  EXPECT_DEATH(credits.add({10, 0, 1, kNoResource}), "no more credits");
}

// As a link uses it: takes what a train of TLPs may use, gives it back some time later.
struct Traffic {
  std::int64_t window = 0;
  std::int64_t unit_time = 0;
  std::int64_t most_spacing = 0;
  std::int64_t loop = 0;
  bool in_order = true;  // a run begins when the one before is through
};

// Compares with the list on everything a link asks; returns how many decisions were compared.
int compare(const Traffic& traffic, std::uint64_t seed) {
  Draws draws(seed);
  CreditReturns credits;
  credits.start_with(traffic.window);
  CreditList list(traffic.window);
  std::int64_t now = 0;
  std::int64_t through = 0;
  int compared = 0;
  for (int step = 0; step < 400; ++step) {
    now += draws.below(3) == 0 ? draws.below(3 * traffic.loop) : draws.below(traffic.unit_time * 3);
    credits.absorb(now);
    EXPECT_EQ(credits.available(), list.available(now)) << "seed " << seed << " step " << step;
    EXPECT_EQ(credits.known(), list.known());
    const std::int64_t units = draws.between(1, traffic.window);
    const std::int64_t gapless = credits.gapless(now, traffic.unit_time, units);
    EXPECT_EQ(gapless, list.gapless(now, traffic.unit_time, units)) << seed << " step " << step;
    if (list.known() >= units) {
      EXPECT_EQ(credits.start_for(now, traffic.unit_time, units),
                list.start_for(now, traffic.unit_time, units))
          << "seed " << seed << " step " << step;
      EXPECT_EQ(credits.time_of(now, units), list.time_of(now, units));
    }
    ++compared;
    const std::int64_t taken = draws.below(4) == 0 ? std::min(units, list.known()) : gapless;
    if (taken == 0) continue;
    credits.take(taken);
    list.take(taken);
    CreditRun run;
    run.first = std::max(through, now + traffic.loop + draws.below(traffic.unit_time));
    run.spacing = draws.below(traffic.most_spacing + 1);
    run.units = taken;
    through = run.first + run.spacing * (run.units - 1);
    credits.add(run);
    list.add(run);
    if (testing::Test::HasFailure()) break;
  }
  return compared;
}

TEST(CreditReturns, AgreesWithAListOfSingleCredits) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws(seed + 1000);
    Traffic traffic;
    traffic.window = draws.between(1, 80);
    traffic.unit_time = draws.between(1, 9000);
    traffic.most_spacing = draws.below(2) == 0 ? traffic.unit_time : 3 * traffic.unit_time;
    traffic.loop = draws.between(1, 300'000);
    compared += compare(traffic, seed);
    if (HasFailure()) break;
  }
  EXPECT_GT(compared, 10'000);
}

// Uses are never ahead of returns: at each time no more units have been begun than credits had
// come.
void expect_covered(std::vector<std::int64_t> uses, std::vector<std::int64_t> returns) {
  std::sort(uses.begin(), uses.end());
  std::sort(returns.begin(), returns.end());
  ASSERT_GE(returns.size(), uses.size());
  for (std::size_t i = 0; i < uses.size(); ++i) ASSERT_LE(returns[i], uses[i]) << "unit " << i;
}

// Packets that leave one buffer by different links give their credits back crosswise. Counting on
// too few only waits longer; counting on too many would overrun the far end's buffer.
TEST(CreditReturns, BeginsNoUnitWithoutItsCreditWhereRunsCross) {
  constexpr std::int64_t kWindow = 64;
  constexpr std::int64_t kUnit = 4000;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Draws draws(seed + 5000);
    CreditReturns credits;
    credits.start_with(kWindow);
    std::vector<std::int64_t> uses;
    std::vector<std::int64_t> returns(kWindow, 0);
    std::int64_t now = 0;
    for (int step = 0; step < 200; ++step) {
      now += draws.below(40'000);
      credits.absorb(now);
      const std::int64_t units = credits.gapless(now, kUnit, draws.between(1, 16));
      if (units == 0) continue;
      credits.take(units);
      const CreditRun run{now + 100'000 + draws.below(100'000), draws.below(9000), units, 1};
      credits.add(run);
      for (std::int64_t i = 0; i < units; ++i) {
        uses.push_back(now + i * kUnit);
        returns.push_back(run.first + i * run.spacing);
      }
      now += units * kUnit;
    }
    EXPECT_GT(uses.size(), 400U);
    expect_covered(uses, returns);
    if (HasFailure()) break;
    credits.absorb(now + 10'000'000);
    EXPECT_EQ(credits.available(), kWindow);
  }
}

// Runs that begin at the same time are taken in their order, whichever was added first.
TEST(CreditReturns, OrderRunsOfTheSameTime) {
  const CreditRun spread{1'000, 100, 3, 7, 2};
  const CreditRun together{1'000, 0, 2, 8, 1};
  for (const bool other_first : {false, true}) {
    CreditReturns credits;
    credits.start_with(5);
    credits.take(5);
    credits.add(other_first ? together : spread);
    credits.add(other_first ? spread : together);
    EXPECT_EQ(credits.time_of(0, 2), 1'000);
    EXPECT_EQ(credits.time_of(0, 4), 1'100);
    EXPECT_EQ(credits.culprit(1'000), 7);
  }
}

}  // namespace
}  // namespace gradhaul
