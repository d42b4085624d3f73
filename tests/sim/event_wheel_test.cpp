#include "sim/event_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using examples::Draws;

constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();
// Far beyond the wheel's turn of some 4 us, and well within it.
constexpr std::int64_t kFar = 50'000'000;
constexpr std::int64_t kNear = 300'000;

Event event_at(std::int64_t time, Phase phase, std::uint32_t ingress, std::uint32_t what) {
  return {time, event_order(phase, ingress), what};
}

std::vector<std::uint32_t> take_all(EventWheel& wheel) {
  std::vector<std::uint32_t> taken;
  while (!wheel.empty()) taken.push_back(wheel.take().what);
  return taken;
}

TEST(EventWheel, IsEmptyAtFirstAndWhenAllIsTaken) {
  EventWheel wheel;
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.next_time(), kNothing);
  wheel.schedule(event_at(5, Phase::kArrival, 0, 1));
  EXPECT_FALSE(wheel.empty());
  EXPECT_EQ(wheel.next_time(), 5);
  EXPECT_EQ(wheel.take().what, 1U);
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.next_time(), kNothing);
}

TEST(EventWheel, OrdersByTimeThenPhaseThenIngressThenFirstInFirstOut) {
  for (const std::int64_t time : {std::int64_t{700}, kNear, kFar}) {
    EventWheel wheel;
    wheel.schedule(event_at(time, Phase::kArrival, 3, 6));
    wheel.schedule(event_at(time, Phase::kArrival, 3, 7));
    wheel.schedule(event_at(time + 1, Phase::kRelease, 0, 9));
    wheel.schedule(event_at(time, Phase::kPause, 9, 4));
    wheel.schedule(event_at(time, Phase::kArrival, 2, 5));
    wheel.schedule(event_at(time, Phase::kRelease, 8, 3));
    wheel.schedule(event_at(time, Phase::kRelease, 7, 1));
    wheel.schedule(event_at(time, Phase::kRelease, 7, 2));
    wheel.schedule(event_at(time - 1, Phase::kArrival, 9, 0));
    wheel.schedule(event_at(time, Phase::kArrival, kMostFlows - 1, 8));
    EXPECT_EQ(take_all(wheel), (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << time;
  }
}

// Scheduled while still far off, and again once the wheel has come near: the earlier comes first.
TEST(EventWheel, TiesAcrossTheHorizonStayFirstInFirstOut) {
  EventWheel wheel;
  wheel.schedule(event_at(kFar, Phase::kArrival, 1, 1));
  wheel.schedule(event_at(kFar, Phase::kArrival, 1, 2));
  wheel.schedule(event_at(kFar - 1000, Phase::kArrival, 1, 0));
  EXPECT_EQ(wheel.take().what, 0U);
  wheel.schedule(event_at(kFar, Phase::kArrival, 1, 3));
  EXPECT_EQ(wheel.next_time(), kFar);
  wheel.schedule(event_at(kFar, Phase::kArrival, 1, 4));
  EXPECT_EQ(wheel.take().what, 1U);
  wheel.schedule(event_at(kFar, Phase::kArrival, 1, 5));
  EXPECT_EQ(take_all(wheel), (std::vector<std::uint32_t>{2, 3, 4, 5}));
}

// Looking ahead is no commitment: something earlier may still come.
TEST(EventWheel, TakesWhatIsScheduledBeforeTheEventThatWasSeenNext) {
  for (const std::int64_t ahead : {std::int64_t{900}, kNear, kFar}) {
    EventWheel wheel;
    wheel.schedule(event_at(100, Phase::kArrival, 0, 0));
    wheel.schedule(event_at(100 + ahead, Phase::kArrival, 0, 3));
    EXPECT_EQ(wheel.take().what, 0U);
    EXPECT_EQ(wheel.next_time(), 100 + ahead);
    wheel.schedule(event_at(100 + ahead / 2, Phase::kArrival, 0, 2));
    EXPECT_EQ(wheel.next_time(), 100 + ahead / 2);
    wheel.schedule(event_at(101, Phase::kArrival, 0, 1));
    EXPECT_EQ(wheel.next_time(), 101);
    wheel.schedule(event_at(101 + 2 * ahead, Phase::kArrival, 0, 4));
    EXPECT_EQ(take_all(wheel), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  }
}

struct Pending {
  Event event;
  std::int64_t sequence = 0;
  auto key() const { return std::tuple(event.time, event.order, sequence); }
};

// Against a list that is searched: times close together, near and far, ties of every kind.
TEST(EventWheel, AgreesWithASortedListOnRandomTraffic) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Draws draws(seed);
    EventWheel wheel;
    std::vector<Pending> list;
    std::int64_t now = 0;
    std::int64_t sequence = 0;
    for (int step = 0; step < 4000; ++step) {
      const bool grows = list.size() < 3 || (list.size() < 300 && draws.below(100) < 52);
      if (grows) {
        constexpr std::int64_t kReach[] = {1, 4, 2000, 100'000, 4'194'304, 30'000'000};
        Event event;
        event.time = now + draws.below(kReach[draws.below(6)]);
        event.order = event_order(static_cast<Phase>(draws.below(3)),
                                  static_cast<std::uint32_t>(draws.below(3)));
        event.what = static_cast<std::uint32_t>(sequence);
        wheel.schedule(event);
        list.push_back({event, sequence++});
      } else {
        const auto first =
            std::min_element(list.begin(), list.end(),
                             [](const Pending& a, const Pending& b) { return a.key() < b.key(); });
        ASSERT_EQ(wheel.next_time(), first->event.time) << "seed " << seed << " step " << step;
        const Event taken = wheel.take();
        ASSERT_EQ(taken.what, first->event.what) << "seed " << seed << " step " << step;
        ASSERT_EQ(taken.time, first->event.time);
        now = taken.time;
        list.erase(first);
      }
      ASSERT_EQ(wheel.empty(), list.empty());
    }
  }
}

TEST(EventWheelDeathTest, RefusesThePast) {
  EventWheel wheel;
  wheel.schedule(event_at(1000, Phase::kArrival, 0, 0));
  wheel.take();
  EXPECT_DEATH(wheel.schedule(event_at(999, Phase::kArrival, 0, 0)), "past");
}

// Taking them one by one gives the same list.
TEST(EventWheel, ListsWhatIsPendingInItsOrder) {
  examples::Draws draws(11);
  EventWheel wheel;
  std::int64_t now = 0;
  for (int round = 0; round < 300; ++round) {
    for (std::int64_t i = draws.below(40); i > 0; --i) {
      const std::int64_t ahead = draws.below(3) == 0 ? draws.below(9'000'000) : draws.below(3000);
      wheel.schedule({now + ahead, static_cast<std::uint32_t>(draws.below(3)),
                      static_cast<std::uint32_t>(draws.below(1000))});
    }
    const std::vector<Event> listed = wheel.pending();
    for (std::size_t i = 0; i < listed.size() && i < 20; ++i) {
      const Event taken = wheel.take();
      ASSERT_EQ(taken.time, listed[i].time);
      ASSERT_EQ(taken.order, listed[i].order);
      ASSERT_EQ(taken.what, listed[i].what);
      now = taken.time;
    }
  }
}

}  // namespace
}  // namespace gradhaul
