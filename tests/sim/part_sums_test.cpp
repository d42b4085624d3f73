#include "sim/part_sums.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

std::map<std::int64_t, std::int64_t> map_of(const PartSums& sums) {
  std::map<std::int64_t, std::int64_t> map;
  std::int64_t last = INT64_MIN;
  for (const PartSums::Entry& entry : sums.sums()) {
    EXPECT_GT(entry.key, last) << "by key, one of each";
    last = entry.key;
    map[entry.key] = entry.ps;
  }
  return map;
}

// Whatever is added in whatever order, and whenever it is asked for.
TEST(PartSums, AddUpByKey) {
  examples::Draws draws(1);
  for (int world = 0; world < 50; ++world) {
    const std::int64_t keys = draws.between(1, 300);
    PartSums sums;
    std::map<std::int64_t, std::int64_t> expected;
    for (int i = 0; i < 1000; ++i) {
      const PartSums::Entry entry{draws.between(0, keys - 1), draws.between(-5, 1'000'000)};
      sums.add(entry);
      expected[entry.key] += entry.ps;
      if (i % 97 == 0) {
        ASSERT_EQ(map_of(sums), expected);
      }
    }
    EXPECT_EQ(map_of(sums), expected);
    EXPECT_LE(sums.size(), std::max<std::size_t>(16, expected.size() * 3 / 2))
        << "memory grows with keys, not with what was added";
    PartSums both;
    both.add({-1, 7});
    both.add(sums);
    both.add(sums);
    EXPECT_EQ(map_of(both).at(-1), 7);
    EXPECT_EQ(map_of(both).at(expected.begin()->first), 2 * expected.begin()->second);
  }
}

}  // namespace
}  // namespace gradhaul
