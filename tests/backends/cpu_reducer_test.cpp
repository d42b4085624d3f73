#include "backends/cpu/cpu_reducer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/backends/reduced_streams.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;

class CpuReducerTest : public testing::Test {
 protected:
  template <std::size_t kCount>
  static std::span<std::byte> bytes_of(std::array<std::int32_t, kCount>& elements) {
    return std::as_writable_bytes(std::span(elements));
  }
  static BufferRef element(Region region, std::int64_t index) { return {region, {index * 4}}; }
  static ReduceRequest add(std::int64_t target, std::int64_t left, std::int64_t right) {
    return {.kind = ReduceKind::kReduce,
            .target = element(Region::kOutput, target),
            .left = element(Region::kInput, left),
            .right = element(Region::kSlots, right),
            .count = 1,
            .datatype = DataType::kInt32};
  }

  std::array<std::int32_t, 4> input_{1, 2, 3, 4};
  std::array<std::int32_t, 4> output_{-1, -1, -1, -1};
  std::array<std::int32_t, 4> slots_{10, 20, 30, 40};
  CpuReducer reducer_{HostMemory{bytes_of(input_), bytes_of(output_), bytes_of(slots_)}};
  ReducedStreams sink_;
};

TEST_F(CpuReducerTest, ReadsAndWritesOnlyWhenCompleted) {
  reducer_.post_reduce(add(0, 0, 0));
  EXPECT_THAT(output_, ElementsAre(-1, -1, -1, -1));
  EXPECT_TRUE(sink_.seen.empty());
  slots_[0] = 11;
  reducer_.complete_oldest(0, sink_);
  EXPECT_THAT(output_, ElementsAre(12, -1, -1, -1));
  EXPECT_THAT(sink_.seen, ElementsAre(0));
}

TEST_F(CpuReducerTest, StreamsAreFirstInFirstOutAndIndependent) {
  ReduceRequest first = add(0, 0, 0);
  first.stream = 1;
  ReduceRequest second = add(0, 1, 1);
  second.stream = 1;
  ReduceRequest other = add(1, 2, 2);
  other.stream = 4;
  for (const ReduceRequest& request : {first, second, other}) reducer_.post_reduce(request);
  EXPECT_EQ(reducer_.pending(), 3U);
  EXPECT_EQ(reducer_.pending(1), 2U);
  reducer_.complete_oldest(4, sink_);
  EXPECT_THAT(output_, ElementsAre(-1, 33, -1, -1));
  reducer_.complete_oldest(1, sink_);
  EXPECT_THAT(output_, ElementsAre(11, 33, -1, -1));
  reducer_.complete_oldest(1, sink_);
  EXPECT_THAT(output_, ElementsAre(22, 33, -1, -1));
  EXPECT_THAT(sink_.seen, ElementsAre(4, 1, 1));
  EXPECT_EQ(reducer_.pending(), 0U);
}

TEST_F(CpuReducerTest, CopiesAndReducesOntoItsLeft) {
  ReduceRequest copy = add(1, 0, 0);
  copy.kind = ReduceKind::kCopy;
  copy.left = element(Region::kSlots, 0);
  copy.count = 2;
  ReduceRequest onto = add(1, 0, 2);
  onto.left = onto.target;
  ReduceRequest itself = copy;
  itself.left = itself.target;
  for (const ReduceRequest& request : {copy, onto, itself}) {
    reducer_.post_reduce(request);
    reducer_.complete_oldest(0, sink_);
  }
  EXPECT_THAT(output_, ElementsAre(-1, 40, 20, -1));
}

TEST_F(CpuReducerTest, AveragesDivideOnlyWhereAsked) {
  ReduceRequest request = add(0, 3, 0);
  request.reduction = Reduction::kAvg;
  reducer_.post_reduce(request);
  request.target = element(Region::kOutput, 1);
  request.divisor = 4;
  reducer_.post_reduce(request);
  reducer_.complete_oldest(0, sink_);
  reducer_.complete_oldest(0, sink_);
  EXPECT_THAT(output_, ElementsAre(14, 3, -1, -1));
}

TEST_F(CpuReducerTest, HoldsItsUserToTheContract) {
  const auto run = [&](const ReduceRequest& request) {
    reducer_.post_reduce(request);
    reducer_.complete_oldest(0, sink_);
  };
  ReduceRequest overlapping = add(1, 0, 0);
  overlapping.left = element(Region::kOutput, 0);
  overlapping.count = 2;
  EXPECT_DEATH(run(overlapping), "wholly or not at all");
  ReduceRequest outside = add(3, 0, 0);
  outside.count = 2;
  EXPECT_DEATH(run(outside), "within its region");
  ReduceRequest divided = add(0, 0, 0);
  divided.divisor = 2;
  EXPECT_DEATH(run(divided), "only an average divides");
  ReduceRequest empty = add(0, 0, 0);
  empty.count = 0;
  EXPECT_DEATH(run(empty), "at least one element");
  EXPECT_DEATH(reducer_.complete_oldest(0, sink_), "nothing to complete");
}

}  // namespace
}  // namespace gradhaul
