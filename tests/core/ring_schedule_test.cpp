#include "core/ring_schedule.h"

#include <gtest/gtest.h>

#include "tests/core/schedule_cases.h"

namespace gradhaul {
namespace {

using namespace literals;

// Four ranks in the order 0 2 1 3, four chunks of one element each.
RingSchedule four_ranks() {
  return RingSchedule(MessagePlan(4, DataType::kFp32, 1, 4, 4_B), {{0, 2, 1, 3}});
}

TEST(RingSchedule, WalksTheRingAsWrittenDown) {
  const RingSchedule schedule = four_ranks();
  ASSERT_EQ(schedule.items(1, 0, 0), 7);
  // Rank 1 has position 2, rank 2 before it and rank 3 behind it: chunk 2 first, then one down each
  // step.
  const std::int64_t chunks[] = {2, 1, 0, 3, 2, 1, 0};
  for (std::int64_t step = 0; step < 7; ++step) {
    const Item item = schedule.item(1, 0, 0, step);
    EXPECT_EQ(item.span, (Span{chunks[step], 1})) << step;
    EXPECT_EQ(item.receive_count, step == 0 ? 0 : 1) << step;
    EXPECT_EQ(item.send_count, step == 6 ? 0 : 1) << step;
    if (item.receive_count > 0) {
      EXPECT_EQ(item.receives[0].peer, 2) << step;
    }
    if (item.send_count > 0) {
      EXPECT_EQ(item.sends[0].peer, 3) << step;
      EXPECT_EQ(item.sends[0].span, item.span) << step;
      EXPECT_EQ(item.sends[0].source, step == 0 ? Region::kInput : Region::kOutput) << step;
    }
    EXPECT_EQ(item.last_reduction, step == 3) << step;
  }
}

TEST(RingSchedule, ReducesThenCopies) {
  const RingSchedule schedule = four_ranks();
  const Operation operations[] = {Operation::kNone,   Operation::kReduce, Operation::kReduce,
                                  Operation::kReduce, Operation::kCopy,   Operation::kCopy,
                                  Operation::kCopy};
  for (std::int64_t step = 0; step < 7; ++step) {
    EXPECT_EQ(schedule.item(0, 0, 0, step).operation, operations[step]) << step;
  }
}

TEST(RingSchedule, OverwritesOnlyAfterTheSameSliceWasWrittenOut) {
  const RingSchedule schedule(MessagePlan(24, DataType::kFp32, 1, 4, 8_B), turned_rings(1, 4));
  ASSERT_EQ(schedule.slices_per_step(0), 3);
  for (std::int64_t i = 0; i < schedule.items(0, 0, 0); ++i) {
    const Item item = schedule.item(0, 0, 0, i);
    ASSERT_EQ(item.after.has_value(), i >= 4 * 3);
    if (!item.after) continue;
    EXPECT_EQ(item.after->lane, 0);
    EXPECT_EQ(item.after->index, i - 4 * 3);
    EXPECT_EQ(schedule.item(0, 0, 0, item.after->index).sends[0].span, item.span);
  }
}

TEST(RingSchedule, TwoRanksExchange) {
  const RingSchedule schedule(MessagePlan(2, DataType::kFp32, 1, 2, 4_B), turned_rings(1, 2));
  ASSERT_EQ(schedule.items(0, 0, 0), 3);
  EXPECT_EQ(schedule.item(0, 0, 0, 0).span.first, 0);
  EXPECT_TRUE(schedule.item(0, 0, 0, 1).last_reduction);
  EXPECT_EQ(schedule.item(0, 0, 0, 1).span.first, 1);
  EXPECT_EQ(schedule.item(0, 0, 0, 2).span.first, 0);
  EXPECT_EQ(schedule.item(0, 0, 0, 2).send_count, 0);
}

TEST(RingSchedule, SendsAllChunksButOneTwice) {
  // 11 elements on 4 ranks: chunks of 3, 3, 3, 2. A rank at position p never sends chunk p + 1
  // while reducing, nor chunk p + 2 while gathering.
  const RingSchedule schedule(MessagePlan(11, DataType::kFp32, 1, 4, 8_B), turned_rings(1, 4));
  const std::int64_t chunks[] = {3, 3, 3, 2};
  for (Rank rank = 0; rank < 4; ++rank) {
    std::int64_t sent = 0;
    for (std::int64_t i = 0; i < schedule.items(rank, 0, 0); ++i) {
      const Item item = schedule.item(rank, 0, 0, i);
      for (int s = 0; s < item.send_count; ++s) sent += item.sends[0].span.count;
    }
    EXPECT_EQ(sent, 2 * 11 - chunks[(rank + 1) % 4] - chunks[(rank + 2) % 4]);
  }
}

TEST(RingSchedule, ReachesTheEndOfAHundredGigabytes) {
  const MessagePlan plan(50'000'000'000, DataType::kBf16, 2, 64, 512_KiB);
  const RingSchedule schedule(plan, turned_rings(2, 64));
  const std::int64_t slices = schedule.slices_per_step(1);
  // 50e9 / 2 / 64 = 390625000 elements in slices of 262144.
  EXPECT_EQ(slices, 1491);
  const Item item = schedule.item(63, 1, 0, slices * 127 - 1);
  // Rank 63 is at position 62 of the ring turned by one, so its last chunk is 62 + 2 = 64 mod 64.
  EXPECT_EQ(item.span, plan.slice(1, 0, slices - 1));
  EXPECT_EQ(item.operation, Operation::kCopy);
}

TEST(RingScheduleDeathTest, RingHoldsEachRankOnce) {
  const MessagePlan plan(4, DataType::kFp32, 1, 2, 4_B);
  EXPECT_DEATH(RingSchedule(plan, {{1, 1}}), "a ring holds each rank once");
  EXPECT_DEATH(RingSchedule(plan, {{0, 1, 2}}), "a ring holds every rank");
}

}  // namespace
}  // namespace gradhaul
