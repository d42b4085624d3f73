#include "core/pairwise_schedule.h"

#include <gtest/gtest.h>

#include <set>

namespace gradhaul {
namespace {

using namespace literals;

TEST(PairwiseSchedule, MeetsEveryOtherRankOnceInEachDirection) {
  for (Rank n = 2; n <= 20; ++n) {
    const PairwiseSchedule schedule(MessagePlan(3, DataType::kFp32, 1, 1, 64_B), n);
    for (Rank rank = 0; rank < n; ++rank) {
      ASSERT_EQ(schedule.items(rank, 0, 0), n - 1);
      ASSERT_EQ(schedule.items(rank, 0, 1), n - 1);
      std::set<Rank> to;
      std::set<Rank> from;
      for (std::int64_t step = 0; step < n - 1; ++step) {
        to.insert(schedule.item(rank, 0, 0, step).sends[0].peer);
        from.insert(schedule.item(rank, 0, 1, step).receives[0].peer);
      }
      EXPECT_EQ(to.size(), static_cast<std::size_t>(n - 1));
      EXPECT_EQ(from.size(), static_cast<std::size_t>(n - 1));
      EXPECT_EQ(to.count(rank) + from.count(rank), 0U);
    }
  }
}

TEST(PairwiseSchedule, NoTwoRanksSendToTheSameInAStep) {
  const PairwiseSchedule schedule(MessagePlan(3, DataType::kFp32, 1, 1, 64_B), 9);
  for (std::int64_t step = 0; step < 8; ++step) {
    std::set<Rank> to;
    for (Rank rank = 0; rank < 9; ++rank) {
      const Rank peer = schedule.item(rank, 0, 0, step).sends[0].peer;
      to.insert(peer);
      EXPECT_EQ(schedule.item(peer, 0, 1, step).receives[0].peer, rank);
    }
    EXPECT_EQ(to.size(), 9U);
  }
}

// Parts of 10 elements in two channels and slices of 4: part d of rank r becomes part r of rank d.
TEST(PairwiseSchedule, PutsPartsWhereTheyBelong) {
  const PairwiseSchedule schedule(MessagePlan(10, DataType::kFp32, 2, 1, 16_B), 3);
  ASSERT_EQ(schedule.slices_per_step(1), 2);
  const Item send = schedule.item(1, 1, 0, 3);  // step 2, second slice: to rank 0
  EXPECT_EQ(send.operation, Operation::kNone);
  EXPECT_EQ(send.sends[0].peer, 0);
  EXPECT_EQ(send.sends[0].source, Region::kInput);
  EXPECT_EQ(send.sends[0].span, (Span{9, 1}));
  const Item receive = schedule.item(0, 1, 1, 3);
  EXPECT_EQ(receive.operation, Operation::kCopy);
  EXPECT_EQ(receive.receives[0].peer, 1);
  EXPECT_EQ(receive.span, (Span{19, 1}));
  const Item own = schedule.item(2, 0, 2, 1);
  EXPECT_EQ(own.operation, Operation::kCopy);
  EXPECT_EQ(own.receive_count + own.send_count, 0);
  EXPECT_EQ(own.span, (Span{24, 1}));
}

}  // namespace
}  // namespace gradhaul
