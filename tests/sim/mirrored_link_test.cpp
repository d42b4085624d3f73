#include "sim/mirrored_link.h"

#include <gtest/gtest.h>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using examples::Draws;

// What is told of the second link is what serving the same packets there, a latency later, gives.
TEST(MirroredLink, HasServedWhatTheFirstHas) {
  Draws draws(1);
  for (int world = 0; world < 50; ++world) {
    LinkState first;
    LinkState stepped;
    LinkState told;
    first.latency = draws.between(0, 300'000);
    MirroredLink second;
    std::int64_t start = draws.below(5'000'000);
    for (std::int64_t packets = draws.between(1, 300); packets > 0; --packets) {
      const std::uint64_t part = LinkDigest::part(draws.below(5), 1);
      if (first.digest.count == 0) {
        second.begin(first.digest.record(start, part),
                     stepped.digest.record(start + first.latency, part));
      }
      first.digest.add(start, part);
      stepped.digest.add(start + first.latency, part);
      first.free = start + draws.between(1, 90'000);
      first.carry = draws.below(1'000);
      first.busy_total += first.free - start;
      first.payload_total += 4096;
      start = first.free + draws.below(2) * draws.below(90'000);
      if (draws.below(20) == 0) second.settle(first, told);
    }
    second.settle(first, told);
    EXPECT_EQ(told.digest.reduced(), stepped.digest.reduced()) << "world " << world;
    EXPECT_EQ(told.digest.count, stepped.digest.count);
    EXPECT_EQ(told.digest.last_start, stepped.digest.last_start);
    EXPECT_EQ(told.free, first.free + first.latency);
    EXPECT_EQ(told.carry, first.carry);
    EXPECT_EQ(told.busy_total, first.busy_total);
    EXPECT_EQ(told.payload_total, first.payload_total);
  }
}

}  // namespace
}  // namespace gradhaul
