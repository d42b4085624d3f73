#include "sim/earliest_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace gradhaul {
namespace {

// Beside looking through all of them, for numbers of times about every power of two.
TEST(EarliestOf, IsTheEarliestOfAll) {
  std::mt19937_64 random(1);
  for (std::size_t count = 1; count <= 70; ++count) {
    SCOPED_TRACE(testing::Message() << count << " times");
    EarliestOf earliest(count);
    EXPECT_EQ(earliest.time(), INT64_MAX) << "none is set";
    std::vector<std::int64_t> times(count, INT64_MAX);
    for (int i = 0; i < 300; ++i) {
      const auto which = static_cast<std::size_t>(random() % count);
      times[which] = random() % 8 == 0 ? INT64_MAX : static_cast<std::int64_t>(random() % 50);
      earliest.set(which, times[which]);
      if (i % 3 == 0) {
        const auto time = static_cast<std::int64_t>(random() % 50);
        times[which] = std::min(times[which], time);
        earliest.bring_forward(which, time);
      }
      ASSERT_EQ(earliest.time(), *std::min_element(times.begin(), times.end()));
      ASSERT_EQ(times[earliest.which()], earliest.time());
    }
  }
}

}  // namespace
}  // namespace gradhaul
