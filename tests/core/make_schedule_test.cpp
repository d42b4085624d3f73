#include "core/make_schedule.h"

#include <gtest/gtest.h>

#include "core/collective_algorithms.h"
#include "core/double_binary_tree_schedule.h"
#include "core/item_likeness.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "core/send_recv_schedule.h"
#include "tests/core/schedule_cases.h"

namespace gradhaul {
namespace {

using namespace literals;

Placement placement_of(int channels, Rank ranks) {
  Placement placement;
  placement.channels = channels;
  placement.rings = turned_rings(channels, ranks);
  return placement;
}

ScheduleRequest request_of(Collective collective, Algorithm algorithm = Algorithm::kRing) {
  return {collective, algorithm, 4, 1003, DataType::kBf16, 64_B};
}

TEST(MakeSchedule, ChoosesByCollectiveAndAlgorithm) {
  const Placement placement = placement_of(2, 4);
  const auto is = [&](const ScheduleRequest& request, const auto& type) {
    const auto schedule = make_schedule(request, placement);
    EXPECT_EQ(schedule->ranks(), 4);
    EXPECT_EQ(schedule->channels(), 2);
    return typeid(*schedule.get()) == type;
  };
  EXPECT_TRUE(is(request_of(Collective::kAllReduce), typeid(RingSchedule)));
  EXPECT_TRUE(is(request_of(Collective::kAllReduce, Algorithm::kDoubleBinaryTree),
                 typeid(DoubleBinaryTreeSchedule)));
  EXPECT_TRUE(is(request_of(Collective::kAllToAll), typeid(PairwiseSchedule)));
  EXPECT_TRUE(is(request_of(Collective::kSendRecv), typeid(SendRecvSchedule)));
}

TEST(MakeSchedule, ExchangesEqualParts) {
  const auto schedule = make_schedule(request_of(Collective::kAllToAll), placement_of(1, 4));
  // 1003 / 4 = 250 elements each, three left out; the last part ends at 1000.
  const std::int64_t last = schedule->items(3, 0, 2) - 1;
  const Span span = schedule->item(3, 0, 2, last).span;
  EXPECT_EQ(span.first + span.count, 1000);
}

TEST(MakeSchedule, MakesEveryAlgorithmOfEveryCollective) {
  Placement placement = placement_of(2, 4);
  placement.ranks_per_node = 2;
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kBroadcast, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const Algorithm algorithm : algorithms_of(collective)) {
      const auto schedule = make_schedule(request_of(collective, algorithm), placement);
      EXPECT_EQ(schedule->ranks(), 4) << name_of(algorithm);
      EXPECT_EQ(schedule->channels(), 2) << name_of(algorithm);
    }
    // A ring is the default of the key, whatever the collective.
    EXPECT_NE(make_schedule(request_of(collective), placement), nullptr);
  }
}

void expect_slices_of_steps_alike(const Schedule& schedule, Rank rank, int channel, int lane) {
  const std::int64_t slices = schedule.slices_per_step(channel);
  for (std::int64_t i = 0; i + 1 < schedule.items(rank, channel, lane); ++i) {
    if ((i + 1) % slices == 0) continue;
    const Item item = schedule.item(rank, channel, lane, i);
    const Item next = schedule.item(rank, channel, lane, i + 1);
    ASSERT_LE(next.span.count, item.span.count) << "item " << i;
    if ((i + 2) % slices == 0) continue;  // the last may be smaller
    EXPECT_TRUE(alike(
        item, next, [](Rank peer) { return peer; },
        [&](const Dependency& after) {
          return after.index + schedule.items_per_slice(rank, channel, after.lane);
        }))
        << "item " << i << " of " << slices << " a step";
  }
}

// What Schedule::steps_are_even() promises.
TEST(MakeSchedule, SlicesOfAStepAskForTheSame) {
  int even = 0;
  Placement placement = placement_of(2, 4);
  placement.ranks_per_node = 2;
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kBroadcast, Collective::kAllToAll, Collective::kSendRecv}) {
    for (const Algorithm algorithm : algorithms_of(collective)) {
      for (const std::int64_t count : {3, 250, 1003, 1024, 1090}) {
        SCOPED_TRACE(std::string(name_of(algorithm)) + ", " + std::to_string(count) + " elements");
        ScheduleRequest request = request_of(collective, algorithm);
        request.count = count;
        const auto schedule = make_schedule(request, placement);
        if (!schedule->steps_are_even()) continue;
        ++even;
        for (Rank rank = 0; rank < 4; ++rank) {
          for (int channel = 0; channel < 2; ++channel) {
            for (int lane = 0; lane < schedule->lanes(); ++lane) {
              expect_slices_of_steps_alike(*schedule, rank, channel, lane);
            }
          }
        }
      }
    }
  }
  EXPECT_GE(even, 15);  // rings of three collectives
}

TEST(MakeSchedule, KnowsWhereTheResultIs) {
  EXPECT_EQ(elements_of_message(Collective::kAllReduce, 1003, 4), 1003);
  EXPECT_EQ(elements_of_message(Collective::kAllGather, 1003, 4), 1000);
  EXPECT_EQ(result_of(Collective::kReduceScatter, 1003, 4, 2), (Span{500, 250}));
  EXPECT_EQ(result_of(Collective::kAllGather, 1003, 4, 2), (Span{0, 1000}));
  EXPECT_EQ(result_of(Collective::kBroadcast, 1003, 4, 2), (Span{0, 1003}));
}

TEST(MakeSchedule, KnowsWhatRunsInPlace) {
  EXPECT_TRUE(runs_in_place(Collective::kAllReduce));
  EXPECT_FALSE(runs_in_place(Collective::kAllToAll));
  EXPECT_FALSE(runs_in_place(Collective::kSendRecv));
}

TEST(SendRecvSchedule, SendsToTheNextAndReceivesFromThePrevious) {
  const SendRecvSchedule schedule(MessagePlan(10, DataType::kFp32, 1, 1, 16_B), 5);
  ASSERT_EQ(schedule.items(0, 0, 0), 3);
  const Item send = schedule.item(4, 0, 0, 1);
  EXPECT_EQ(send.sends[0].peer, 0);
  EXPECT_EQ(send.sends[0].span, (Span{4, 4}));
  const Item receive = schedule.item(0, 0, 1, 2);
  EXPECT_EQ(receive.receives[0].peer, 4);
  EXPECT_EQ(receive.operation, Operation::kCopy);
  EXPECT_EQ(receive.span, (Span{8, 2}));
}

}  // namespace
}  // namespace gradhaul
