#include "sim/copies.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

// A commutative group whose zero is the part itself.
TEST(Copies, AddUp) {
  for (const auto& [first, second] : {std::pair(1, 1), {4, 1}, {1, 8}, {3, 4}}) {
    const Copies copies(first, second, 100);
    ASSERT_EQ(copies.count(), first * second);
    for (int a = 0; a < copies.count(); ++a) {
      EXPECT_EQ(copies.plus(a, 0), a);
      EXPECT_EQ(copies.plus(a, copies.minus(0, a)), 0);
      for (int b = 0; b < copies.count(); ++b) {
        EXPECT_EQ(copies.plus(a, b), copies.plus(b, a));
        EXPECT_EQ(copies.minus(copies.plus(a, b), b), a);
        EXPECT_EQ(copies.first(copies.plus(a, b)), (copies.first(a) + copies.first(b)) % first);
        EXPECT_EQ(copies.second(copies.plus(a, b)), (copies.second(a) + copies.second(b)) % second);
      }
    }
  }
}

TEST(Copies, ResourcesAreSeenFromElsewhere) {
  const Copies copies(3, 4, 100);
  for (int a = 0; a < copies.count(); ++a) {
    EXPECT_EQ(copies.copy_of(copies.seen(42, a)), a);
    EXPECT_EQ(copies.resource_of(copies.seen(42, a)), 42);
    for (int b = 0; b < copies.count(); ++b) {
      EXPECT_EQ(copies.seen(copies.seen(42, a), b), copies.seen(42, copies.plus(a, b)));
    }
  }
  EXPECT_EQ(copies.seen(kNoResource, 5), kNoResource);
  EXPECT_EQ(Copies().seen(42, 0), 42);
}

}  // namespace
}  // namespace gradhaul
