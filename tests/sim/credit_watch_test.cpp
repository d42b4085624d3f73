#include "sim/credit_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using examples::Draws;

struct Change {
  std::int64_t time;
  std::int64_t units;
};

// Counted one by one: whether what is taken and not yet back is ever more than the window. What is
// back at an instant is there for whoever takes at that instant.
bool runs_out(const std::vector<Change>& takes, const std::vector<Change>& returns,
              std::int64_t window) {
  for (const Change& now : takes) {
    std::int64_t under_way = 0;
    for (const Change& taken : takes) under_way += taken.time <= now.time ? taken.units : 0;
    for (const Change& back : returns) under_way -= back.time <= now.time ? back.units : 0;
    if (under_way > window) return true;
  }
  return false;
}

// Packets leave the far end's buffer some time after they start, at even steps for a while, those
// of several links behind it interleaved; told of in any order within a check.
TEST(WireCredits, AreCountedAsOneByOne) {
  Draws draws(3);
  int out = 0;
  for (int world = 0; world < 400; ++world) {
    const std::int64_t window = draws.between(40, 400);
    const std::int64_t until_back = draws.below(300);
    WireCredits credits;
    credits.start_with(window, until_back, true);
    std::vector<Change> takes;
    std::vector<Change> returns;
    std::vector<std::pair<Change, std::int64_t>> pending;  // taken, and when it leaves
    bool threw = false;
    std::int64_t now = 0;
    std::int64_t step = 10;
    try {
      for (int check = 0; check < 30; ++check) {
        const std::int64_t end = now + draws.between(20, 400);
        std::vector<std::pair<Change, std::int64_t>> leave_later;
        while (now < end) {
          if (draws.below(6) == 0) step = draws.between(5, 60);
          const Change taken{now, draws.below(8) == 0 ? draws.between(1, 20) : 20};
          credits.take(taken.time, taken.units);
          takes.push_back(taken);
          pending.emplace_back(taken, now + draws.between(20, 40) + 15 * draws.below(5));
          now += step;
        }
        // All that starts to leave before the end is known by then.
        for (const auto& [taken, leaves] : pending) {
          if (leaves >= now) {
            leave_later.emplace_back(taken, leaves);
            continue;
          }
          credits.leave(leaves, taken.units);
          returns.push_back({leaves + until_back, taken.units});
        }
        pending = leave_later;
        credits.check();
      }
    } catch (const EventsNeeded&) {
      threw = true;
    }
    // What leaves later was told of no more than it is back before any of these.
    EXPECT_EQ(threw, runs_out(takes, returns, window)) << "world " << world;
    out += threw ? 1 : 0;
  }
  EXPECT_GT(out, 50);
  EXPECT_LT(out, 350);
}

struct SentTrain {
  std::int64_t start;
  std::int64_t units;
  std::int64_t time;
};

// Unit by unit: the j-th of a train is back one loop after the train began and j parts of its time.
bool runs_out(const std::vector<SentTrain>& trains, std::int64_t window, std::int64_t loop) {
  for (const SentTrain& now : trains) {
    std::int64_t under_way = 0;
    for (const SentTrain& sent : trains) {
      if (sent.start > now.start) continue;
      for (std::int64_t unit = 0; unit < sent.units; ++unit) {
        const std::int64_t back = sent.start + loop + unit * sent.time / sent.units;
        under_way += back > now.start ? 1 : 0;
      }
    }
    if (under_way > window) return true;
  }
  return false;
}

// Trains that are left out are no more than a link can send, and others come on top: where credits
// run out counted unit by unit, the watch says so.
TEST(TrainCredits, LeaveOutOnlyWhatSuffices) {
  Draws draws(4);
  int left_out = 0;
  int quiet = 0;
  for (int world = 0; world < 600; ++world) {
    const std::int64_t units = draws.between(1, 16);
    const std::int64_t time = units * draws.between(50, 200);
    const std::int64_t loop = draws.between(100, 6'000);
    const std::int64_t window = draws.between(2, 160);
    TrainCredits credits;
    credits.start_with(window, loop);
    credits.leave_out(units, time);
    if (credits.leaves_out()) ++left_out;
    std::vector<SentTrain> trains;
    bool threw = false;
    std::int64_t now = 0;
    try {
      for (int i = 0; i < 80; ++i) {
        const bool plain = draws.below(5) > 0;
        // Others are pieces of such, whose last unit is short.
        const std::int64_t count = plain ? units : draws.between(1, units);
        const std::int64_t takes =
            plain
                ? time
                : std::max<std::int64_t>(1, (count - 1) * time / units + draws.below(time / units));
        if (!plain || !credits.leaves_out()) credits.take(now, count, takes);
        trains.push_back({now, count, takes});
        now += takes + (draws.below(3) == 0 ? draws.below(2 * time) : 0);
      }
    } catch (const EventsNeeded&) {
      threw = true;
    }
    if (!threw) {
      EXPECT_FALSE(runs_out(trains, window, loop)) << "world " << world;
      ++quiet;
    }
  }
  EXPECT_GT(left_out, 50);
  EXPECT_GT(quiet, 50);
}

// One window's worth is enough for as many trains as fit on the link, and one less is not.
TEST(TrainCredits, LeaveOutWhatFitsOnTheLink) {
  // 16 units in 72 ns, a loop of 200 ns: 44.4 units in the loop, and the train that starts.
  for (const std::int64_t window : {62, 61}) {
    TrainCredits credits;
    credits.start_with(window, 200'000);
    credits.leave_out(16, 72'000);
    EXPECT_EQ(credits.leaves_out(), window == 62);
  }
}

}  // namespace
}  // namespace gradhaul
