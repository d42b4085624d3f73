// The sending end of DCQCN against what its rules come to.

#include "sim/reaction_point.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

// The paper's parameters, timers far apart so that each rule can be seen by itself.
CongestionControl paper() {
  CongestionControl control;
  control.dcqcn = true;
  control.gain = 1.0 / 256;
  control.initial_alpha = 1;
  control.alpha_timer = 55_us;
  control.decrease_interval = 50_us;
  control.increase_timer = 55_us;
  control.fast_recovery = 5;
  control.additive_increase = BitRate{40'000'000};
  control.hyper_increase = BitRate{200'000'000};
  control.least_rate = BitRate{40'000'000};
  return control;
}

constexpr std::int64_t kMicrosecond = 1'000'000;

TEST(ReactionPoint, SendsAtLineRateUntilNotified) {
  ReactionPoint point(paper(), 40_Gbps);
  EXPECT_EQ(point.rate(1'000'000'000), 40e9);
  EXPECT_EQ(point.spacing({4178}, 1'000'000'000), 0);
}

TEST(ReactionPoint, TheFirstNotificationHalvesTheRate) {
  ReactionPoint point(paper(), 40_Gbps);
  point.on_notification(7 * kMicrosecond);
  EXPECT_EQ(point.rate(7 * kMicrosecond), 20e9);
  EXPECT_EQ(point.target(), 40e9);
  // 5000 bytes take 2 us at 20 Gb/s.
  EXPECT_EQ(point.spacing({5000}, 7 * kMicrosecond), 2 * kMicrosecond);
}

// (1 - g)^k after k quiet intervals; half is left after 177.
TEST(ReactionPoint, AlphaDecaysWhileItIsQuiet) {
  ReactionPoint point(paper(), 40_Gbps);
  point.on_notification(0);
  // The first interval had the notification: 1 stays 1.
  for (int intervals = 1; intervals <= 400; ++intervals) {
    point.rate(intervals * 55 * kMicrosecond);
    EXPECT_NEAR(point.alpha(), std::pow(1 - 1.0 / 256, intervals - 1), 1e-12);
  }
  EXPECT_NEAR(std::pow(1 - 1.0 / 256, 177), 0.5, 0.001);
}

// F steps of fast recovery leave (target - rate) / 2^F.
TEST(ReactionPoint, FastRecoveryHalvesTheGap) {
  ReactionPoint point(paper(), 40_Gbps);
  point.on_notification(0);
  for (int step = 1; step <= 5; ++step) {
    EXPECT_NEAR(40e9 - point.rate(step * 55 * kMicrosecond), 20e9 / std::pow(2, step), 1);
    EXPECT_EQ(point.target(), 40e9);
  }
}

// Once more, and the target rises: by the additive step, then by the hyper step, never over the
// line's rate.
TEST(ReactionPoint, ThenTheTargetRises) {
  CongestionControl control = paper();
  control.fast_recovery = 1;
  ReactionPoint point(control, 40_Gbps);
  point.on_notification(0);
  // A second cut, after an increase: now the target lies below the line's rate.
  point.rate(55 * kMicrosecond);
  point.on_notification(99 * kMicrosecond);
  const double before = point.rate(99 * kMicrosecond);
  EXPECT_EQ(before, 30e9);
  point.rate(100 * kMicrosecond);
  EXPECT_EQ(point.target(), before);
  const std::int64_t cut = 100 * kMicrosecond;
  const auto after = [&](int increases) { point.rate(cut + increases * 55 * kMicrosecond); };
  after(1);
  EXPECT_EQ(point.target(), before);
  after(2);
  EXPECT_EQ(point.target(), before + 40e6);
  after(3);
  EXPECT_EQ(point.target(), before + 40e6 + 200e6);
  after(1000);
  EXPECT_EQ(point.target(), 40e9);
  EXPECT_LE(point.rate(cut + 2000 * 55 * kMicrosecond), 40e9);
}

// However many notifications come, one cut an interval.
TEST(ReactionPoint, CutsOnceInAnInterval) {
  ReactionPoint point(paper(), 40_Gbps);
  for (int i = 0; i < 40; ++i) point.on_notification(i * kMicrosecond);
  EXPECT_EQ(point.rate(40 * kMicrosecond), 20e9);
  // The second at 50 us; alpha is still 1.
  EXPECT_EQ(point.rate(50 * kMicrosecond), 10e9);
  EXPECT_EQ(point.target(), 40e9) << "there was no increase in between";
}

TEST(ReactionPoint, GoesNoLowerThanItsLeastRate) {
  ReactionPoint point(paper(), 40_Gbps);
  for (int i = 0; i < 100; ++i) point.on_notification(i * 50 * kMicrosecond);
  EXPECT_GE(point.rate(100 * 50 * kMicrosecond), 40e6);
}

// Else the target stays where it was before the first of the two.
TEST(ReactionPoint, ClampsItsTargetAtEachCutWhereItIsToldTo) {
  CongestionControl control = paper();
  control.clamp_target = true;
  ReactionPoint point(control, 40_Gbps);
  point.on_notification(0);
  EXPECT_EQ(point.target(), 40e9);
  point.on_notification(kMicrosecond);
  EXPECT_EQ(point.rate(50 * kMicrosecond), 10e9);
  EXPECT_EQ(point.target(), 20e9);
}

// alpha is 1, which would halve the rate.
TEST(ReactionPoint, CutsNoDeeperThanItsLeastFactor) {
  CongestionControl control = paper();
  control.min_decrease_factor = 0.8;
  ReactionPoint point(control, 40_Gbps);
  point.on_notification(0);
  EXPECT_EQ(point.rate(0), 32e9);
  control.min_decrease_factor = 0.25;
  ReactionPoint deeper(control, 40_Gbps);
  deeper.on_notification(0);
  EXPECT_EQ(deeper.rate(0), 20e9);
}

// The first notification finds that rate, and cuts it; the next ones find what has come of it.
TEST(ReactionPoint, StartsFromTheRateOfItsFirstNotification) {
  CongestionControl control = paper();
  control.first_cnp_rate = 10_Gbps;
  ReactionPoint point(control, 40_Gbps);
  EXPECT_EQ(point.rate(kMicrosecond), 40e9);
  point.on_notification(kMicrosecond);
  EXPECT_EQ(point.rate(kMicrosecond), 5e9);
  EXPECT_EQ(point.target(), 10e9);
  point.on_notification(2 * kMicrosecond);
  EXPECT_EQ(point.rate(51 * kMicrosecond), 2.5e9);
  control.first_cnp_rate = 100_Gbps;
  ReactionPoint slower_line(control, 40_Gbps);
  slower_line.on_notification(0);
  EXPECT_EQ(slower_line.rate(0), 20e9) << "no rate is above the line's";
}

TEST(ReactionPoint, CountsBytesWhereItIsToldTo) {
  CongestionControl control = paper();
  control.increase_timer = {1'000'000'000'000};
  control.increase_bytes = {10'000'000};
  ReactionPoint point(control, 40_Gbps);
  point.on_notification(0);
  for (int i = 0; i < 9'999; ++i) point.on_sent({1000}, kMicrosecond);
  EXPECT_EQ(point.rate(kMicrosecond), 20e9);
  point.on_sent({1000}, kMicrosecond);
  EXPECT_EQ(point.rate(kMicrosecond), 30e9);
}

}  // namespace
}  // namespace gradhaul
