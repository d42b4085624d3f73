#include "sim/memory_ports.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

TEST(MemoryPorts, WithoutALimitTakeNoTime) {
  MemoryPorts memory(2, kUnlimited);
  EXPECT_EQ(memory.book(1, {1'000'000}, 77), 77);
  EXPECT_EQ(memory.bytes(1), 1'000'000);
  EXPECT_EQ(memory.bytes(0), 0);
  EXPECT_EQ(memory.busy(1), 0);
}

// 1000 GB/s: a byte a picosecond.
TEST(MemoryPorts, BookInTheOrderOfComing) {
  MemoryPorts memory(2, 1000_GBps);
  EXPECT_EQ(memory.book(0, {500}, 100), 600);
  EXPECT_EQ(memory.book(0, {200}, 150), 800);   // waits for the one before
  EXPECT_EQ(memory.book(1, {200}, 150), 350);   // another GPU's
  EXPECT_EQ(memory.book(0, {10}, 1000), 1010);  // idle since 800
  EXPECT_EQ(memory.busy(0), 710);
  EXPECT_EQ(memory.bytes(0), 710);
}

// 3 GB/s: 333.3 ps a byte; a back-to-back train loses nothing to rounding.
TEST(MemoryPorts, HoldTheirRateOverATrain) {
  MemoryPorts memory(1, 3_GBps);
  std::int64_t end = 0;
  for (int i = 0; i < 3000; ++i) end = memory.book(0, {1}, 0);
  EXPECT_EQ(end, 1'000'000);
}

}  // namespace
}  // namespace gradhaul
