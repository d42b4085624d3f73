#include "sim/blame.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <utility>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using examples::Draws;
using Sums = std::map<std::pair<ResourceId, Cause>, std::int64_t>;

// Before all chains are folded, where few of them leave little.
constexpr std::size_t kMostUnfolded = 16'500;

Trace trace_of(std::initializer_list<TracePart> parts) {
  Trace trace;
  for (const TracePart& part : parts) trace.add(part.resource, part.cause, part.ps);
  return trace;
}

Sums sums_of(const Blame& blame, ChainId chain) {
  Sums sums;
  for (const TracePart& part : blame.parts(chain)) {
    EXPECT_FALSE(sums.contains({part.resource, part.cause})) << "one part each";
    sums[{part.resource, part.cause}] = part.ps;
  }
  return sums;
}

TEST(Trace, AddsUpByResourceAndCause) {
  const Trace trace = trace_of({{3, Cause::kBusy, 5},
                                {kNoResource, Cause::kLatency, 7},
                                {3, Cause::kCredits, 1},
                                {3, Cause::kBusy, 10},
                                {4, Cause::kBusy, 0}});
  EXPECT_EQ(trace.count, 3);
  EXPECT_EQ(trace.total(), 23);
}

TEST(Blame, TellsTheWholeChain) {
  Blame blame;
  const ChainId start = blame.start();
  EXPECT_EQ(blame.total(start), 0);
  EXPECT_TRUE(blame.parts(start).empty());
  const ChainId first = blame.extend(start, trace_of({{1, Cause::kBusy, 10}}));
  const ChainId second =
      blame.extend(first, trace_of({{1, Cause::kBusy, 5}, {kNoResource, Cause::kLatency, 2}}));
  EXPECT_EQ(blame.total(second), 17);
  EXPECT_EQ(sums_of(blame, second),
            (Sums{{{1, Cause::kBusy}, 15}, {{kNoResource, Cause::kLatency}, 2}}));
  EXPECT_EQ(blame.total(first), 10);
  EXPECT_EQ(sums_of(blame, first), (Sums{{{1, Cause::kBusy}, 10}}));
}

// Two chains from one past: what is added to one is not in the other, however they are folded.
TEST(Blame, BranchesShareTheirPastAndNothingElse) {
  Blame blame;
  const ChainId start = blame.start();
  const ChainId past = blame.extend(start, trace_of({{1, Cause::kBusy, 100}}));
  blame.let_go(start);
  const ChainId left = blame.extend(past, trace_of({{2, Cause::kBusy, 10}}));
  const ChainId right = blame.extend(past, trace_of({{3, Cause::kSlots, 1}}));
  blame.let_go(past);
  const ChainId longer = blame.extend(left, trace_of({{1, Cause::kBusy, 1}}));
  blame.let_go(left);
  EXPECT_EQ(sums_of(blame, right), (Sums{{{1, Cause::kBusy}, 100}, {{3, Cause::kSlots}, 1}}));
  blame.let_go(right);
  // Now the past is the other's alone, and folds into it.
  const ChainId end = blame.extend(longer, trace_of({{2, Cause::kBusy, 5}}));
  blame.let_go(longer);
  EXPECT_EQ(blame.total(end), 116);
  EXPECT_EQ(sums_of(blame, end), (Sums{{{1, Cause::kBusy}, 101}, {{2, Cause::kBusy}, 15}}));
  blame.let_go(end);
  EXPECT_EQ(blame.live(), 0U);
}

// A chain as a long run makes it: each completion posts what comes next, and is then done with.
TEST(Blame, MemoryOfALongChainIsBounded) {
  Blame blame;
  ChainId chain = blame.start();
  Sums expected;
  std::size_t most = 0;
  for (int step = 0; step < 100'000; ++step) {
    const ResourceId resource = step % 7;
    const auto cause = static_cast<Cause>(step % kCauses);
    const ChainId next = blame.extend(chain, trace_of({{resource, cause, step + 1}}));
    expected[{resource, cause}] += step + 1;
    blame.let_go(chain);
    chain = next;
    most = std::max(most, blame.pieces());
  }
  EXPECT_LE(most, kMostUnfolded);
  EXPECT_EQ(blame.total(chain), 100'000LL * 100'001 / 2);
  EXPECT_EQ(sums_of(blame, chain), expected);
}

// Some hundred chains in flight that branch off each other at random and end in any order.
TEST(Blame, SumsAndMemoryHoldForChainsThatBranch) {
  struct Held {
    ChainId id;
    Sums sums;
    std::int64_t total;
  };
  Draws draws(4);
  Blame blame;
  std::deque<Held> held{{blame.start(), {}, 0}};
  std::size_t most = 0;
  for (int step = 0; step < 12'000; ++step) {
    const auto from = static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(held.size())));
    Trace parts;
    Held next = held[from];
    for (std::int64_t i = draws.below(4); i >= 0; --i) {
      const auto resource = static_cast<ResourceId>(draws.between(-1, 9));
      const auto cause = static_cast<Cause>(draws.below(kCauses));
      const std::int64_t ps = draws.below(1'000'000);
      parts.add(resource, cause, ps);
      if (ps > 0) next.sums[{resource, cause}] += ps;
      next.total += ps;
    }
    next.id = blame.extend(held[from].id, parts);
    held.push_back(next);
    if (held.size() > 100) {
      const auto ends = static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(100)));
      ASSERT_EQ(blame.total(held[ends].id), held[ends].total);
      ASSERT_EQ(sums_of(blame, held[ends].id), held[ends].sums);
      blame.let_go(held[ends].id);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(ends));
    }
    most = std::max(most, blame.pieces());
  }
  EXPECT_LE(most, kMostUnfolded);
  for (const Held& chain : held) blame.let_go(chain.id);
  EXPECT_EQ(blame.live(), 0U);
}

TEST(Cause, EachHasANameOfItsOwn) {
  std::map<std::string, int> names;
  for (int i = 0; i < kCauses; ++i) ++names[name_of(static_cast<Cause>(i))];
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCauses));
  EXPECT_FALSE(names.contains(""));
}

// Cut chains say which of them they come from, and what was added; given their past back, they are
// whole again.
TEST(Blame, CutsChainsAndJoinsThem) {
  Blame blame;
  const ChainId start = blame.start();
  const ChainId one = blame.extend(start, trace_of({{1, Cause::kBusy, 100}}));
  const ChainId other = blame.extend(one, trace_of({{2, Cause::kSlots, 10}}));
  blame.let_go(start);
  const std::vector<ChainHistory> before = blame.cut({other, one});
  EXPECT_TRUE(blame.parts(one).empty());
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[0].origin, -1);
  ASSERT_EQ(before[0].parts({}).size(), 2U);
  const ChainId after = blame.extend(other, trace_of({{2, Cause::kSlots, 5}}));
  blame.let_go(other);
  blame.let_go(one);
  ChainHistory history = blame.history(after);
  EXPECT_EQ(history.origin, 0);
  ASSERT_EQ(history.parts({}).size(), 1U);
  history.follow(before[0], {});
  blame.set_history(after, history);
  EXPECT_EQ(sums_of(blame, after), (Sums{{{1, Cause::kBusy}, 100}, {{2, Cause::kSlots}, 15}}));
  blame.let_go(after);
  EXPECT_EQ(blame.live(), 0U);
}

// Three copies in a row, resource 4 of each: what was waited for is seen from where the chain is
// now.
TEST(Blame, CountsCopiesFromWhoHoldsTheChain) {
  const Copies copies(3, 1, 10);
  Blame blame(copies);
  const ChainId start = blame.start();
  const ChainId there = blame.extend(start, trace_of({{4, Cause::kBusy, 100}}), 1);
  EXPECT_EQ(sums_of(blame, there), (Sums{{{24, Cause::kBusy}, 100}})) << "two on is one back";
  const std::vector<ChainHistory> before = blame.cut({there});
  const ChainId beyond = blame.extend(there, trace_of({{4, Cause::kBusy, 7}}), 1);
  EXPECT_EQ(sums_of(blame, beyond), (Sums{{{24, Cause::kBusy}, 7}}));
  ChainHistory whole = blame.history(beyond);
  whole.follow(before[0], copies);
  blame.set_history(beyond, whole);
  EXPECT_EQ(sums_of(blame, beyond), (Sums{{{14, Cause::kBusy}, 100}, {{24, Cause::kBusy}, 7}}));
  const ChainId back = blame.extend(beyond, trace_of({{kNoResource, Cause::kSlots, 1}}), 2);
  EXPECT_EQ(
      sums_of(blame, back),
      (Sums{{{24, Cause::kBusy}, 100}, {{4, Cause::kBusy}, 7}, {{kNoResource, Cause::kSlots}, 1}}));
}

}  // namespace
}  // namespace gradhaul
