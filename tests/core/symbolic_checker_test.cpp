// Every schedule, on every rank count up to 64, proven by symbols: with one slot and with more,
// with counts that leave remainders and chunks that are empty, in order and out of order.

#include "core/symbolic_checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/double_binary_tree_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "core/send_recv_schedule.h"
#include "tests/core/schedule_cases.h"

namespace gradhaul {
namespace {

using namespace oracle;

constexpr Bytes kSlot{3 * 2};  // three elements of bf16

// Sanitizers look at the code, for which some rank counts will do.
#ifdef __SANITIZE_ADDRESS__
constexpr Rank kRankStep = 7;
#else
constexpr Rank kRankStep = 1;
#endif

struct Case {
  Rank ranks = 2;
  int channels = 1;
  std::int64_t count = 1;
  int slots = 1;
  int variant = 0;  // turns over what has few values: in place, order, reduction
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (Rank n = 2; n <= 64; n += kRankStep) {
    // Fewer elements than ranks; one slice a chunk, with remainders; several slices, two channels.
    int variant = n;
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{n - 1}, std::int64_t{2 * n + 1},
                                     std::int64_t{7 * n + n / 2}}) {
      for (const int slots : {1, 3}) {
        for (const int channels : {1, 2}) all.push_back({n, channels, count, slots, variant++ % 4});
      }
      ++variant;  // so that a count meets another variant with the same slots and channels
    }
  }
  return all;
}

CheckSettings settings_of(const Case& c, Collective collective) {
  CheckSettings settings;
  settings.collective = collective;
  settings.world.count = c.count;
  settings.world.engine.datatype = DataType::kBf16;
  settings.world.engine.slots = c.slots;
  settings.world.engine.slot_size = kSlot;
  const bool reduces = collective == Collective::kAllReduce;
  settings.world.in_place = reduces && c.variant % 2 == 1;
  if (reduces && c.variant >= 2) settings.world.engine.reduction = Reduction::kAvg;
  if (c.variant >= 2) settings.seed = static_cast<std::uint64_t>(c.count * 64 + c.ranks);
  // What a schedule must wait for shows only when writes are done late.
  if (c.variant == 1) settings.starved = CompletionKind::kWriteDone;
  return settings;
}

MessagePlan plan_of(const Case& c, std::int64_t count, int parts) {
  return {count, DataType::kBf16, c.channels, parts, kSlot};
}

testing::AssertionResult proven(const CheckReport& report, const Case& c) {
  if (report.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << c.ranks << " ranks, " << c.channels << " channels, " << c.count << " elements, "
         << c.slots << " slots, variant " << c.variant << ":\n"
         << report.text();
}

TEST(SymbolicChecker, ProvesRingOnEveryRankCount) {
  for (const Case& c : cases()) {
    const RingSchedule schedule(plan_of(c, c.count, c.ranks), turned_rings(c.channels, c.ranks));
    const CheckReport report = check_schedule(schedule, settings_of(c, Collective::kAllReduce));
    ASSERT_TRUE(proven(report, c));
    // Each of the 2(N-1) steps that send moves every chunk once.
    ASSERT_EQ(report.total_bytes(), Bytes{2} * c.count * (2 * (c.ranks - 1)));
    // A rank sends all chunks but one, twice: no more than 2(N-1)/N of the size, one element of
    // each channel's chunks more where they are not equal.
    for (const Bytes sent : report.bytes_sent) {
      const std::int64_t share = 2 * (c.ranks - 1) * (c.count / c.ranks + 2 * c.channels);
      ASSERT_LE(sent, Bytes{2} * share);
    }
  }
}

TEST(SymbolicChecker, ProvesDoubleBinaryTreeOnEveryRankCount) {
  for (const Case& c : cases()) {
    const DoubleBinaryTreeSchedule schedule(plan_of(c, c.count, 2),
                                            turned_rings(c.channels, c.ranks), 1);
    const CheckReport report = check_schedule(schedule, settings_of(c, Collective::kAllReduce));
    ASSERT_TRUE(proven(report, c));
    // Each of the N-1 edges of a tree carries its half up and down.
    ASSERT_EQ(report.total_bytes(), Bytes{2} * c.count * (2 * (c.ranks - 1)));
    // Inner in one tree (3 sends of a half), a leaf in the other (1): twice the size at most, and
    // an element more for each channel where halves are not equal.
    for (const Bytes sent : report.bytes_sent) {
      ASSERT_LE(sent, Bytes{2} * (2 * c.count + c.channels));
    }
  }
}

TEST(SymbolicChecker, ProvesDoubleBinaryTreeOverChainsInNodes) {
  for (const Rank ranks_per_node : {2, 3, 4, 8}) {
    for (Rank nodes = 1; nodes * ranks_per_node <= 64; nodes += kRankStep) {
      const Case c{nodes * ranks_per_node, 2, 11 * nodes + 5, 1 + nodes % 3, nodes % 4};
      const DoubleBinaryTreeSchedule schedule(plan_of(c, c.count, 2),
                                              turned_rings(c.channels, c.ranks), ranks_per_node);
      const CheckReport report = check_schedule(schedule, settings_of(c, Collective::kAllReduce));
      ASSERT_TRUE(proven(report, c));
      ASSERT_EQ(report.total_bytes(), Bytes{2} * c.count * (2 * (c.ranks - 1)));
      // The head of a chain sends its sum down once more.
      for (const Bytes sent : report.bytes_sent) {
        ASSERT_LE(sent, Bytes{2} * (3 * c.count + c.channels));
      }
    }
  }
}

TEST(SymbolicChecker, ProvesSingleTree) {
  for (Rank n = 2; n <= 64; n += kRankStep) {
    const Case c{n, 2, 5 * n + 3, 1 + n % 2, n % 4};
    const DoubleBinaryTreeSchedule schedule(plan_of(c, c.count, 1),
                                            turned_rings(c.channels, c.ranks), 1 + n % 5);
    const CheckReport report = check_schedule(schedule, settings_of(c, Collective::kAllReduce));
    ASSERT_TRUE(proven(report, c));
    ASSERT_EQ(report.total_bytes(), Bytes{2} * c.count * (2 * (c.ranks - 1)));
  }
}

TEST(SymbolicChecker, ProvesPairwiseAllToAllOnEveryRankCount) {
  for (const Case& c : cases()) {
    const PairwiseSchedule schedule(plan_of(c, c.count / c.ranks, 1), c.ranks);
    const CheckReport report = check_schedule(schedule, settings_of(c, Collective::kAllToAll));
    ASSERT_TRUE(proven(report, c));
    for (const Bytes sent : report.bytes_sent) {
      ASSERT_EQ(sent, Bytes{2} * (c.count / c.ranks) * (c.ranks - 1));
    }
  }
}

TEST(SymbolicChecker, ProvesSendRecvOnEveryRankCount) {
  for (const Case& c : cases()) {
    const SendRecvSchedule schedule(plan_of(c, c.count, 1), c.ranks);
    const CheckReport report = check_schedule(schedule, settings_of(c, Collective::kSendRecv));
    ASSERT_TRUE(proven(report, c));
    for (const Bytes sent : report.bytes_sent) ASSERT_EQ(sent, Bytes{2} * c.count);
  }
}

}  // namespace
}  // namespace gradhaul
