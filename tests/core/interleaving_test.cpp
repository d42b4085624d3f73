// Level-triggered means indifferent to the order of completions: small cases in every order there
// is, with one and the same final state, and larger ones in many random orders.

#include <gtest/gtest.h>

#include "core/double_binary_tree_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "core/send_recv_schedule.h"
#include "tests/core/schedule_cases.h"
#include "tests/oracles/all_orders.h"

namespace gradhaul {
namespace {

using namespace oracle;
using Kinds = std::vector<CompletionKind>;

constexpr Bytes kSlot{4};  // a slice is an element

CheckSettings settings_of(Collective collective, std::int64_t count, int slots) {
  CheckSettings settings;
  settings.collective = collective;
  settings.world.count = count;
  settings.world.in_place = collective == Collective::kAllReduce;
  settings.world.engine.slots = slots;
  settings.world.engine.slot_size = kSlot;
  settings.world.engine.reduction = Reduction::kAvg;
  return settings;
}

MessagePlan plan_of(std::int64_t count, int parts) {
  return {count, DataType::kFp32, 1, parts, kSlot};
}

void expect_one_end(const Schedule& schedule, const CheckSettings& settings, const Kinds& eager) {
  const Exploration all = explore_all_orders(schedule, settings, eager, 200'000);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.final_states, 1);
  EXPECT_GT(all.states, 8);
  for (const std::string& violation : all.violations) ADD_FAILURE() << violation;
}

TEST(Interleaving, RingOfTwoInEveryOrder) {
  for (const auto& [slices, slots] : {std::pair{1, 1}, {1, 2}, {2, 1}}) {
    const RingSchedule ring(plan_of(2 * slices, 2), turned_rings(1, 2));
    expect_one_end(ring, settings_of(Collective::kAllReduce, 2 * slices, slots), {});
  }
}

// With credits handed over at once, which no lane ever waits for.
TEST(Interleaving, RingOfTwoWithTwoSlicesAndTwoSlots) {
  const RingSchedule ring(plan_of(4, 2), turned_rings(1, 2));
  expect_one_end(ring, settings_of(Collective::kAllReduce, 4, 2), {CompletionKind::kCreditDone});
}

TEST(Interleaving, RingOfThree) {
  const RingSchedule ring(plan_of(3, 3), turned_rings(1, 3));
  expect_one_end(ring, settings_of(Collective::kAllReduce, 3, 1), {CompletionKind::kCreditDone});
  expect_one_end(ring, settings_of(Collective::kAllReduce, 3, 2),
                 {CompletionKind::kCreditDone, CompletionKind::kCreditArrived});
  const RingSchedule two_slices(plan_of(6, 3), turned_rings(1, 3));
  expect_one_end(two_slices, settings_of(Collective::kAllReduce, 6, 1),
                 {CompletionKind::kCreditDone, CompletionKind::kWriteDone});
}

TEST(Interleaving, TreesOfTwoAndThree) {
  for (const Rank n : {2, 3}) {
    for (const int slots : {1, 2}) {
      const DoubleBinaryTreeSchedule one(plan_of(2, 1), turned_rings(1, n), 1);
      const CheckSettings settings = settings_of(Collective::kAllReduce, 2, slots);
      expect_one_end(one, settings, n == 2 ? Kinds{} : Kinds{CompletionKind::kCreditDone});
      const DoubleBinaryTreeSchedule both(plan_of(2, 2), turned_rings(1, n), 1);
      expect_one_end(
          both, settings,
          n == 2 ? Kinds{} : Kinds{CompletionKind::kCreditDone, CompletionKind::kCreditArrived});
    }
  }
}

TEST(Interleaving, PairwiseOfTwoAndThree) {
  for (const int slots : {1, 2}) {
    const PairwiseSchedule two(plan_of(2, 1), 2);
    expect_one_end(two, settings_of(Collective::kAllToAll, 4, slots), {});
    const PairwiseSchedule three(plan_of(1, 1), 3);
    expect_one_end(three, settings_of(Collective::kAllToAll, 3, slots),
                   {CompletionKind::kCreditDone, CompletionKind::kWriteDone});
  }
}

TEST(Interleaving, SendRecvOfTwoAndThree) {
  for (const int slots : {1, 2}) {
    const SendRecvSchedule two(plan_of(2, 1), 2);
    expect_one_end(two, settings_of(Collective::kSendRecv, 2, slots), {});
    const SendRecvSchedule three(plan_of(2, 1), 3);
    expect_one_end(three, settings_of(Collective::kSendRecv, 2, slots),
                   {CompletionKind::kCreditDone, CompletionKind::kCreditArrived});
  }
}

TEST(Interleaving, RandomOrdersOfLargerCases) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto n = static_cast<Rank>(2 + seed % 7);
    const std::int64_t count = n * static_cast<std::int64_t>(1 + seed / 7 % 4) + 1;
    const int slots = 1 + static_cast<int>(seed / 28 % 4);
    const RingSchedule ring(plan_of(count, n), turned_rings(1, n));
    const DoubleBinaryTreeSchedule trees(plan_of(count, 2), turned_rings(1, n),
                                         1 + static_cast<int>(seed % 3));
    for (const Schedule* schedule :
         {static_cast<const Schedule*>(&ring), static_cast<const Schedule*>(&trees)}) {
      CheckSettings settings = settings_of(Collective::kAllReduce, count, slots);
      settings.seed = seed;
      for (const auto starved : {std::optional<CompletionKind>{},
                                 {CompletionKind::kWriteDone},
                                 {CompletionKind::kCreditArrived},
                                 {CompletionKind::kReduceDone}}) {
        settings.starved = starved;
        const CheckReport report = check_schedule(*schedule, settings);
        ASSERT_TRUE(report.ok()) << "seed " << seed << '\n' << report.text();
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul
