#include "core/collective_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/double_binary_tree_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "core/send_recv_schedule.h"
#include "core/symbolic_checker.h"
#include "tests/core/schedule_cases.h"

namespace gradhaul {
namespace {

using namespace literals;
using namespace oracle;
using testing::HasSubstr;

SymbolicSettings world_settings(std::int64_t count, int slots) {
  SymbolicSettings settings;
  settings.count = count;
  settings.engine.slots = slots;
  settings.engine.slot_size = 4_B;  // a slice is an element
  return settings;
}

RingSchedule ring_of(Rank ranks, std::int64_t slices, int channels = 1) {
  return RingSchedule(MessagePlan(ranks * slices * channels, DataType::kFp32, channels, ranks, 4_B),
                      turned_rings(channels, ranks));
}

// Delivers the first queue that has a completion of another kind than `withheld`.
bool deliver_any(SymbolicWorld& world, std::optional<CompletionKind> withheld = std::nullopt) {
  for (std::size_t queue = 0; queue < world.queues(); ++queue) {
    if (world.pending(queue) == 0 || world.kind(queue) == withheld) continue;
    world.deliver(queue);
    return true;
  }
  return false;
}

TEST(CollectiveEngine, NumbersConnectionsAndLaysOutSlots) {
  const RingSchedule ring = ring_of(4, 3, 2);
  EngineSettings settings;
  settings.slots = 3;
  settings.slot_size = 8_B;
  const CollectiveEngine engine(ring, 1, settings);
  const std::vector<ConnectionEnd>& ends = engine.connections();
  ASSERT_EQ(ends.size(), 4U);  // a sender and a receiver in each channel
  Bytes slots;
  for (const ConnectionEnd& end : ends) {
    EXPECT_EQ(end.key.stream, 0);
    EXPECT_EQ(end.key.source, end.sends ? 1 : 0);
    EXPECT_EQ(end.key.destination, end.sends ? 2 : 1);
    if (end.sends) continue;
    EXPECT_EQ(end.slots_offset, slots);
    slots += 24_B;
  }
  EXPECT_EQ(engine.slots_bytes(), slots);
}

TEST(CollectiveEngine, FindsTheSameConnectionsWithoutTheShortCut) {
  const PairwiseSchedule pairwise(MessagePlan(7, DataType::kFp32, 2, 1, 4_B), 6);
  const AlteredSchedule unshaped(pairwise, [](const ItemPlace&, Item&) {});
  ASSERT_GT(pairwise.slices_per_step(0), unshaped.slices_per_step(0));
  EngineSettings settings;
  settings.slot_size = 4_B;
  for (Rank rank = 0; rank < 6; ++rank) {
    const CollectiveEngine a(pairwise, rank, settings);
    const CollectiveEngine b(unshaped, rank, settings);
    ASSERT_EQ(a.connections().size(), 2U * 2 * 5);
    ASSERT_EQ(a.connections().size(), b.connections().size());
    for (std::size_t i = 0; i < a.connections().size(); ++i) {
      EXPECT_EQ(a.connections()[i].key, b.connections()[i].key);
    }
  }
}

TEST(CollectiveEngine, LeavesOutPeersItHasNothingFor) {
  // One element on three ranks: chunks of 1, 0 and 0. Rank 1, where it is reduced last but one,
  // still passes it on; nobody waits for the empty ones.
  const RingSchedule ring(MessagePlan(1, DataType::kFp32, 1, 3, 4_B), turned_rings(1, 3));
  CheckSettings settings;
  settings.world = world_settings(1, 1);
  const CheckReport report = check_schedule(ring, settings);
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.total_bytes(), 4_B * (2 * 2));
}

TEST(CollectiveEngine, ProgressRunsFromNothingToAll) {
  const RingSchedule ring = ring_of(3, 4);
  SymbolicWorld world(ring, world_settings(12, 2));
  EXPECT_FALSE(world.engine(0).finished());
  world.start();
  double before = world.engine(0).progress();
  EXPECT_EQ(before, 0);
  while (deliver_any(world)) {
    EXPECT_GE(world.engine(0).progress(), before);
    before = world.engine(0).progress();
  }
  EXPECT_EQ(before, 1);
  EXPECT_TRUE(world.finished());
  EXPECT_EQ(world.engine(0).bytes_sent(), 4_B * (2 * 2 * 4));
  EXPECT_EQ(world.engine(0).status(), CompletionStatus::kOk);
}

TEST(CollectiveEngine, RingsOneDoorbellForAllThatOneCompletionAllows) {
  const RingSchedule ring = ring_of(4, 8);
  SymbolicWorld world(ring, world_settings(32, 4));
  world.start();
  EXPECT_EQ(world.posts(), 4 * 4);  // four slots to each successor
  EXPECT_EQ(world.flushes(), 4);
  std::int64_t completions = 0;
  while (deliver_any(world)) ++completions;
  EXPECT_LE(world.flushes(), 4 + completions);
  EXPECT_TRUE(world.violations().empty());
}

TEST(CollectiveEngine, IsNotFinishedUntilItsCreditsAreHandedOver) {
  const RingSchedule ring = ring_of(2, 1);
  SymbolicWorld world(ring, world_settings(2, 4));
  world.start();
  while (deliver_any(world, CompletionKind::kCreditDone)) {
  }
  EXPECT_EQ(world.engine(0).progress(), 1);
  EXPECT_FALSE(world.engine(0).finished());
  while (deliver_any(world)) {
  }
  EXPECT_TRUE(world.finished());
}

TEST(CollectiveEngine, ReturnsSlotsTogetherWhereCreditWritesAreLimited) {
  const SendRecvSchedule schedule(MessagePlan(6, DataType::kFp32, 1, 1, 4_B), 2);
  SymbolicSettings settings = world_settings(6, 3);
  settings.max_writes_in_flight = 1;
  SymbolicWorld world(schedule, settings);
  world.start();
  while (deliver_any(world, CompletionKind::kCreditDone)) {
  }
  // Of three slots the first went back at once, the others wait for that write to be done, and then
  // need one write only.
  std::ostringstream table;
  world.engine(0).describe(table);
  EXPECT_THAT(table.str(), HasSubstr("a slot of rank 1"));
  std::size_t queue = 0;
  while (world.pending(queue) == 0) ++queue;
  ASSERT_EQ(world.kind(queue), CompletionKind::kCreditDone);
  const std::int64_t posts = world.posts();
  world.deliver(queue);
  EXPECT_EQ(world.posts(), posts + 1);
  while (deliver_any(world)) {
  }
  EXPECT_TRUE(world.finished());
  EXPECT_TRUE(world.violations().empty());
}

TEST(CollectiveEngine, StaysWithinTheLimitsOfTheTransport) {
  const RingSchedule ring = ring_of(5, 3, 2);
  const DoubleBinaryTreeSchedule tree(MessagePlan(30, DataType::kFp32, 2, 2, 4_B),
                                      turned_rings(2, 5), 2);
  const PairwiseSchedule pairwise(MessagePlan(6, DataType::kFp32, 2, 1, 4_B), 5);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CheckSettings settings;
    settings.world = world_settings(30, 1 + static_cast<int>(seed % 4));
    settings.world.max_writes_in_flight = 1 + static_cast<std::int32_t>(seed / 4 % 3);
    settings.seed = seed;
    for (const Schedule* schedule :
         {static_cast<const Schedule*>(&ring), static_cast<const Schedule*>(&tree)}) {
      const CheckReport report = check_schedule(*schedule, settings);
      ASSERT_TRUE(report.ok()) << "seed " << seed << '\n' << report.text();
    }
    settings.collective = Collective::kAllToAll;
    const CheckReport report = check_schedule(pairwise, settings);
    ASSERT_TRUE(report.ok()) << "seed " << seed << '\n' << report.text();
  }
}

// The item waits for the last write before it: no later completion would start it.
TEST(CollectiveEngine, StartsWhatWaitedForTheLastWriteOfItsOwnLane) {
  const RingSchedule ring = ring_of(2, 1);
  const AlteredSchedule altered(ring, [](const ItemPlace& place, Item& item) {
    if (place.index == 2) item.after = Dependency{0, 1};
  });
  CheckSettings settings;
  settings.world = world_settings(2, 2);
  settings.starved = CompletionKind::kWriteDone;
  const CheckReport report = check_schedule(altered, settings);
  EXPECT_TRUE(report.ok()) << report.text();
}

// A rank whose n-th completion fails stops there: it posts nothing more, whatever else comes, and
// keeps the first failure.
TEST(CollectiveEngine, StopsAtTheFirstFailure) {
  const RingSchedule ring = ring_of(3, 2);
  for (int failing = 0;; ++failing) {
    SymbolicWorld world(ring, world_settings(6, 2));
    world.start();
    bool failed = false;
    for (int n = 0; n < failing && deliver_any(world); ++n) {
    }
    for (std::size_t queue = 0; queue < world.queues() && !failed; ++queue) {
      if (world.pending(queue) == 0) continue;
      const std::int64_t posts = world.posts();
      world.deliver(queue, CompletionStatus::kFailed);
      EXPECT_EQ(world.posts(), posts);
      failed = true;
    }
    if (!failed) break;
    Rank failed_rank = 0;
    while (world.engine(failed_rank).status() == CompletionStatus::kOk) ++failed_rank;
    const Bytes sent = world.engine(failed_rank).bytes_sent();
    while (deliver_any(world)) {
    }
    EXPECT_EQ(world.engine(failed_rank).status(), CompletionStatus::kFailed);
    EXPECT_FALSE(world.engine(failed_rank).finished());
    EXPECT_EQ(world.engine(failed_rank).bytes_sent(), sent);
    world.engine(failed_rank)
        .on_completion({CompletionKind::kWriteDone, CompletionStatus::kFlushed, 0, 0});
    EXPECT_EQ(world.engine(failed_rank).status(), CompletionStatus::kFailed);
    std::ostringstream table;
    world.engine(failed_rank).describe(table);
    EXPECT_THAT(table.str(), HasSubstr("status failed"));
  }
}

TEST(CollectiveEngine, SaysWhoWaitsForWhom) {
  const RingSchedule ring = ring_of(3, 4);
  SymbolicWorld world(ring, world_settings(12, 2));
  world.start();
  while (deliver_any(world, CompletionKind::kCreditArrived)) {
  }
  std::ostringstream table;
  world.engine(1).describe(table);
  // Two slots: two slices went out and came in, were reduced, and both slots were given back.
  EXPECT_EQ(table.str(),
            "rank 1, status ok\n"
            "  channel lane      items    started       sent   finished  waits for\n"
            "        0    0         20          6          2          2"
            "  data from rank 0; a slot of rank 2\n"
            "  channel    to stream     posted    written    credits\n"
            "        0     2      0          2          2          2\n"
            "  channel  from stream    arrived    started   consumed    granted"
            "  credits on their way\n"
            "        0     0      0          2          2          2          4"
            "                     0\n");
}

TEST(CollectiveEngineDeathTest, RefusesCompletionsThatCannotBe) {
  const RingSchedule ring = ring_of(2, 1);
  SymbolicWorld world(ring, world_settings(2, 1));
  const auto deliver = [&](CompletionKind kind, std::int32_t id, std::int64_t amount) {
    world.engine(0).on_completion({kind, CompletionStatus::kOk, id, amount});
  };
  EXPECT_DEATH(deliver(CompletionKind::kWriteDone, 0, 4), "completions come after the start");
  world.start();
  const bool first_sends = world.engine(0).connections()[0].sends;
  const std::int32_t sender = first_sends ? 0 : 1;
  EXPECT_DEATH(deliver(CompletionKind::kWriteDone, 2, 4), "no such connection");
  EXPECT_DEATH(deliver(CompletionKind::kWriteArrived, sender, 4), "one end of a connection");
  EXPECT_DEATH(deliver(CompletionKind::kReduceDone, 0, 0), "the queue is empty");
  EXPECT_DEATH(deliver(CompletionKind::kReduceDone, 1, 0), "no such reduce stream");
  EXPECT_DEATH(deliver(CompletionKind::kCreditArrived, sender, 2),
               "only slots that were used are returned");
  EXPECT_DEATH(deliver(CompletionKind::kCreditDone, 1 - sender, 0), "only what was posted is done");
}

}  // namespace
}  // namespace gradhaul
