// Negative controls: schedules broken on purpose, each of which the checker must refuse, for the
// reason it is broken.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/double_binary_tree_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "core/send_recv_schedule.h"
#include "tests/core/schedule_cases.h"
#include "tests/oracles/all_orders.h"

namespace gradhaul {
namespace {

using namespace literals;
using namespace oracle;
using testing::HasSubstr;

constexpr Rank kRanks = 4;
constexpr std::int64_t kCount = 24;  // six a chunk, three slices of two elements

CheckSettings settings_of(Collective collective) {
  CheckSettings settings;
  settings.collective = collective;
  settings.world.count = kCount;
  settings.world.engine.slot_size = 8_B;
  settings.world.engine.slots = 2;
  settings.starved = CompletionKind::kWriteDone;
  return settings;
}

MessagePlan plan_of(int parts) { return {kCount, DataType::kFp32, 1, parts, 8_B}; }

std::string refusal(const Schedule& original, const CheckSettings& settings,
                    const AlteredSchedule::Alteration& alteration) {
  EXPECT_TRUE(check_schedule(original, settings).ok());
  return check_schedule(AlteredSchedule(original, alteration), settings).text();
}

std::string ring_refusal(const CheckSettings& settings,
                         const AlteredSchedule::Alteration& alteration) {
  return refusal(RingSchedule(plan_of(kRanks), turned_rings(1, kRanks)), settings, alteration);
}

TEST(BrokenSchedule, WithoutItsDependenciesOverwritesASourceInFlight) {
  const auto forget = [](const ItemPlace&, Item& item) { item.after.reset(); };
  CheckSettings settings = settings_of(Collective::kAllReduce);
  EXPECT_THAT(ring_refusal(settings, forget), HasSubstr("a source is overwritten"));
  settings.world.in_place = true;
  EXPECT_THAT(ring_refusal(settings, forget), HasSubstr("a source is overwritten"));
}

TEST(BrokenSchedule, WithADependencyOneSliceShortOverwritesASourceInFlight) {
  const auto shorten = [](const ItemPlace&, Item& item) {
    if (item.after && --item.after->index < 0) item.after.reset();
  };
  // Writes are done in order, so only the last ones before the overwriting item show it.
  CheckSettings settings = settings_of(Collective::kAllReduce);
  settings.world.in_place = true;
  const RingSchedule ring(MessagePlan(2, DataType::kFp32, 1, 2, 8_B), turned_rings(1, 2));
  settings.world.count = 2;
  const AlteredSchedule altered(ring, shorten);
  EXPECT_TRUE(explore_all_orders(ring, settings, {}, 100'000).violations.empty());
  EXPECT_FALSE(explore_all_orders(altered, settings, {}, 100'000).violations.empty());
}

TEST(BrokenSchedule, WithACopyForAReductionLosesContributions) {
  const auto copy = [](const ItemPlace& place, Item& item) {
    if (place.index / 3 == 2) item.operation = Operation::kCopy;
  };
  EXPECT_THAT(ring_refusal(settings_of(Collective::kAllReduce), copy), HasSubstr("holds element"));
}

TEST(BrokenSchedule, WithAReductionForACopyAddsTwice) {
  const auto reduce = [](const ItemPlace& place, Item& item) {
    if (place.index / 3 == 5) item.operation = Operation::kReduce;
  };
  EXPECT_THAT(ring_refusal(settings_of(Collective::kAllReduce), reduce),
              HasSubstr("a contribution is added twice"));
}

TEST(BrokenSchedule, WithTheWrongPlaceAddsDifferentElements) {
  const auto swap = [](const ItemPlace& place, Item& item) {
    if (place.rank == 1 && place.index == 3) item.span = item.sends[0].span = {2, 2};
  };
  EXPECT_THAT(ring_refusal(settings_of(Collective::kAllReduce), swap),
              HasSubstr("different elements are added"));
}

TEST(BrokenSchedule, ThatDividesEarlyOrNotAtAllIsCaught) {
  CheckSettings settings = settings_of(Collective::kAllReduce);
  settings.world.engine.reduction = Reduction::kAvg;
  const auto early = [](const ItemPlace& place, Item& item) {
    item.last_reduction = place.index / 3 == 2;
  };
  EXPECT_THAT(ring_refusal(settings, early), HasSubstr("added after the division"));
  const auto never = [](const ItemPlace&, Item& item) { item.last_reduction = false; };
  EXPECT_THAT(ring_refusal(settings, never), HasSubstr("holds element"));
}

TEST(BrokenSchedule, ThatWaitsForItselfStallsWithATable) {
  const auto wait = [](const ItemPlace& place, Item& item) {
    if (place.rank == 2 && place.index == 4) item.after = Dependency{0, 4};
  };
  const std::string text = ring_refusal(settings_of(Collective::kAllReduce), wait);
  EXPECT_THAT(text, HasSubstr("nothing left to come, and not finished"));
  EXPECT_THAT(text, HasSubstr("item 4 of lane 0"));
}

TEST(BrokenSchedule, ThatNeedsTwoSlotsDeadlocksAtOne) {
  const SendRecvSchedule original(plan_of(1), kRanks);
  // Item k is received only once item k + 1 has left: fine with two slots, not with one.
  const AlteredSchedule altered(original, [&](const ItemPlace& place, Item& item) {
    const std::int64_t last = original.items(place.rank, 0, 0) - 1;
    if (place.lane == 1) item.after = Dependency{0, std::min(place.index + 1, last)};
  });
  CheckSettings settings = settings_of(Collective::kSendRecv);
  EXPECT_TRUE(check_schedule(altered, settings).ok());
  settings.world.engine.slots = 1;
  EXPECT_THAT(check_schedule(altered, settings).text(), HasSubstr("a slot of rank"));
}

TEST(BrokenSchedule, TreeWhoseRootDoesNotWaitSendsPartialSums) {
  const DoubleBinaryTreeSchedule original(plan_of(2), turned_rings(1, kRanks), 1);
  const auto hurry = [](const ItemPlace& place, Item& item) {
    if (place.lane % 2 == 1 && item.receive_count == 0) item.after.reset();
  };
  EXPECT_THAT(refusal(original, settings_of(Collective::kAllReduce), hurry),
              HasSubstr("something undefined is read"));
}

TEST(BrokenSchedule, TreeWithoutItsDependenciesOverwritesASourceInFlight) {
  const DoubleBinaryTreeSchedule original(plan_of(2), turned_rings(1, kRanks), 1);
  CheckSettings settings = settings_of(Collective::kAllReduce);
  settings.world.in_place = true;
  const auto forget = [](const ItemPlace& place, Item& item) {
    if (place.lane % 2 == 1 && item.receive_count == 1) item.after.reset();
  };
  EXPECT_THAT(refusal(original, settings, forget), HasSubstr("a source is overwritten"));
}

TEST(BrokenSchedule, AllToAllThatSendsTheWrongPartIsCaught) {
  const PairwiseSchedule original(MessagePlan(6, DataType::kFp32, 1, 1, 8_B), kRanks);
  const auto confuse = [](const ItemPlace& place, Item& item) {
    if (place.lane == 0) item.sends[0].span.first = place.rank * 6;
  };
  EXPECT_THAT(refusal(original, settings_of(Collective::kAllToAll), confuse),
              HasSubstr("holds element"));
}

TEST(BrokenSchedule, AllToAllInPlaceIsRefused) {
  const PairwiseSchedule schedule(MessagePlan(6, DataType::kFp32, 1, 1, 8_B), kRanks);
  CheckSettings settings = settings_of(Collective::kAllToAll);
  settings.world.in_place = true;
  EXPECT_FALSE(check_schedule(schedule, settings).ok());
}

}  // namespace
}  // namespace gradhaul
