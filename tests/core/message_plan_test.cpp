#include "core/message_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gradhaul {
namespace {

using namespace literals;

TEST(PartOf, GivesRemaindersToTheFirst) {
  EXPECT_EQ(part_of({100, 11}, 0, 4), (Span{100, 3}));
  EXPECT_EQ(part_of({100, 11}, 1, 4), (Span{103, 3}));
  EXPECT_EQ(part_of({100, 11}, 2, 4), (Span{106, 3}));
  EXPECT_EQ(part_of({100, 11}, 3, 4), (Span{109, 2}));
  EXPECT_EQ(part_of({0, 2}, 3, 4), (Span{2, 0}));
}

// The seven billion bf16 gradients of a 7B model on 32 ranks: 7e9 / 16 / 32 elements a chunk, in
// slots of 262144.
TEST(MessagePlan, CutsA14GigabyteMessage) {
  const MessagePlan plan(7'000'000'000, DataType::kBf16, 16, 32, 512_KiB);
  EXPECT_EQ(plan.channel(1), (Span{437'500'000, 437'500'000}));
  EXPECT_EQ(plan.chunk(1, 2), (Span{437'500'000 + 2 * 13'671'875, 13'671'875}));
  EXPECT_EQ(plan.slices_per_chunk(0), 53);
  EXPECT_EQ(plan.slice(1, 2, 1), (Span{437'500'000 + 2 * 13'671'875 + 262'144, 262'144}));
  EXPECT_EQ(plan.slice(1, 2, 52).count, 13'671'875 - 52 * 262'144);
  EXPECT_EQ(plan.bytes(3), 6_B);
}

TEST(MessagePlan, SliceIsTheChunkWhereThatIsSmallerThanTheSlot) {
  const MessagePlan plan(1000, DataType::kFp32, 2, 5, 512_KiB);
  EXPECT_EQ(plan.slices_per_chunk(0), 1);
  EXPECT_EQ(plan.slice(1, 4, 0), (Span{900, 100}));
}

TEST(MessagePlan, FloorsSlotsToWholeElements) {
  const MessagePlan plan(10, DataType::kFp32, 1, 1, 11_B);
  EXPECT_EQ(plan.slices_per_chunk(0), 5);
  EXPECT_EQ(plan.slice(0, 0, 0), (Span{0, 2}));
}

TEST(MessagePlan, HoldsAHundredGigabytes) {
  const MessagePlan plan(50'000'000'000, DataType::kFp16, 3, 7, 4_KiB);
  const std::int64_t last = plan.slices_per_chunk(2) - 1;
  const Span slice = plan.slice(2, 6, last);
  EXPECT_EQ(slice.first + slice.count, 50'000'000'000);
}

// What must hold for every cut: pieces follow each other without gap or overlap, differ by one
// element at most, larger ones first; slices fit the slot and are full but for the last.
void expect_whole_cut(const MessagePlan& plan, std::int64_t slot_elements) {
  std::int64_t next = 0;
  std::int64_t before = plan.count();
  for (int c = 0; c < plan.channels(); ++c) {
    const Span channel = plan.channel(c);
    ASSERT_EQ(channel.first, next);
    ASSERT_LE(channel.count, before);
    ASSERT_LE(plan.channel(0).count - channel.count, 1);
    before = channel.count;
    for (int k = 0; k < plan.parts(); ++k) {
      const Span chunk = plan.chunk(c, k);
      ASSERT_EQ(chunk.first, next);
      ASSERT_LE(plan.chunk(c, 0).count - chunk.count, 1);
      const std::int64_t slices = plan.slices_per_chunk(c);
      const std::int64_t length = std::min(slot_elements, plan.chunk(c, 0).count);
      ASSERT_EQ(slices, length == 0 ? 1 : (plan.chunk(c, 0).count + length - 1) / length);
      for (std::int64_t s = 0; s < slices; ++s) {
        const Span slice = plan.slice(c, k, s);
        ASSERT_EQ(slice.first, next);
        ASSERT_LE(slice.count, slot_elements);
        if (slice.first + slice.count < chunk.first + chunk.count) {
          ASSERT_EQ(slice.count, length);
        }
        next += slice.count;
      }
      ASSERT_EQ(next, chunk.first + chunk.count);
    }
    ASSERT_EQ(next, channel.first + channel.count);
  }
  ASSERT_EQ(next, plan.count());
}

TEST(MessagePlan, CutsEveryMessageWhole) {
  for (std::int64_t count = 0; count < 70; ++count) {
    for (const int channels : {1, 2, 3, 5}) {
      for (const int parts : {1, 2, 3, 8}) {
        for (const std::int64_t slot : {1, 2, 3, 100}) {
          expect_whole_cut(MessagePlan(count, DataType::kFp32, channels, parts, Bytes{4 * slot}),
                           slot);
        }
      }
    }
  }
}

TEST(MessagePlanDeathTest, SlotHoldsAnElement) {
  EXPECT_DEATH(MessagePlan(1, DataType::kFp32, 1, 1, 3_B), "a slot holds at least one element");
}

}  // namespace
}  // namespace gradhaul
