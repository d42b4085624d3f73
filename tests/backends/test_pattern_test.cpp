// The data of measured runs, against sums done here in double precision.

#include "backends/measure/test_pattern.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "tests/oracles/element_oracle.h"

namespace gradhaul {
namespace {

std::vector<std::byte> input_of(const PatternShape& shape, Rank rank) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(shape.count * size_of(shape.datatype).count));
  TestPattern(shape, rank).input(0, bytes);
  return bytes;
}

std::vector<std::byte> expected_of(const PatternShape& shape, Rank rank) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(shape.count * size_of(shape.datatype).count));
  TestPattern(shape, rank).expected(0, bytes);
  return bytes;
}

std::uint32_t element(const std::vector<std::byte>& bytes, std::int64_t at, DataType type) {
  const auto size = static_cast<std::size_t>(size_of(type).count);
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(at) * size, size);
  return value;
}

// fp32 alone is a type of C++ too; halves are held against the oracle's reading in the kernels' own
// tests, and here by what their sums must not exceed.
TEST(TestPattern, Fp32SumsAreExactInEveryOrder) {
  for (const Rank ranks : {2, 3, 16, 1000}) {
    const PatternShape shape{.datatype = DataType::kFp32, .ranks = ranks, .count = 64};
    const std::vector<std::byte> expected = expected_of(shape, 0);
    std::vector<std::vector<std::byte>> inputs;
    for (Rank rank = 0; rank < ranks; ++rank) inputs.push_back(input_of(shape, rank));
    for (std::int64_t i = 0; i < shape.count; ++i) {
      float forwards = 0;
      float backwards = 0;
      for (Rank rank = 0; rank < ranks; ++rank) {
        float value = 0;
        const std::uint32_t bits =
            element(inputs[static_cast<std::size_t>(rank)], i, DataType::kFp32);
        std::memcpy(&value, &bits, sizeof value);
        forwards += value;
        const std::uint32_t other =
            element(inputs[static_cast<std::size_t>(ranks - 1 - rank)], i, DataType::kFp32);
        std::memcpy(&value, &other, sizeof value);
        backwards += value;
      }
      std::uint32_t bits = element(expected, i, DataType::kFp32);
      float sum = 0;
      std::memcpy(&sum, &bits, sizeof sum);
      EXPECT_EQ(forwards, sum);
      EXPECT_EQ(backwards, sum);
    }
  }
}

class TestPatternOfIntegers : public testing::TestWithParam<DataType> {};

TEST_P(TestPatternOfIntegers, SumsWrapAndAveragesTruncate) {
  const DataType type = GetParam();
  PatternShape shape{.datatype = type, .ranks = 3, .count = 100};
  for (const Reduction reduction : {Reduction::kSum, Reduction::kAvg}) {
    shape.reduction = reduction;
    const std::vector<std::byte> expected = expected_of(shape, 1);
    for (std::int64_t i = 0; i < shape.count; ++i) {
      std::int64_t sum = 0;
      for (Rank rank = 0; rank < 3; ++rank) {
        sum += oracle::integer_of(type, element(input_of(shape, rank), i, type));
      }
      if (reduction == Reduction::kAvg) {
        EXPECT_EQ(oracle::wrapped(type, sum), sum) << "no rank's sum wraps before the division";
        sum /= 3;
      }
      EXPECT_EQ(element(expected, i, type), oracle::integer_element(type, sum));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, TestPatternOfIntegers,
                         testing::Values(DataType::kInt32, DataType::kInt8, DataType::kUint8));

TEST(TestPattern, SendRecvBringsTheRankBefore) {
  const PatternShape shape{.collective = Collective::kSendRecv, .ranks = 4, .count = 70'000};
  EXPECT_EQ(expected_of(shape, 0), input_of(shape, 3));
  EXPECT_EQ(expected_of(shape, 2), input_of(shape, 1));
}

TEST(TestPattern, AllToAllBringsThePartForThisRankOfEach) {
  const PatternShape shape{.collective = Collective::kAllToAll,
                           .datatype = DataType::kBf16,
                           .ranks = 3,
                           .count = 300'000};
  const std::vector<std::byte> expected = expected_of(shape, 1);
  const std::ptrdiff_t part = 200'000;  // bytes
  for (Rank source = 0; source < 3; ++source) {
    const std::vector<std::byte> input = input_of(shape, source);
    EXPECT_TRUE(std::equal(expected.begin() + source * part, expected.begin() + (source + 1) * part,
                           input.begin() + part))
        << source;
  }
}

TEST(TestPattern, AllGatherBringsThePartOfEach) {
  const PatternShape shape{.collective = Collective::kAllGather, .ranks = 3, .count = 300'000};
  const std::vector<std::byte> expected = expected_of(shape, 1);
  const std::ptrdiff_t part = 400'000;  // bytes
  for (Rank source = 0; source < 3; ++source) {
    const std::vector<std::byte> input = input_of(shape, source);
    EXPECT_TRUE(std::equal(expected.begin() + source * part, expected.begin() + (source + 1) * part,
                           input.begin() + source * part))
        << source;
  }
}

TEST(TestPattern, BroadcastBringsWhatRankZeroHas) {
  const PatternShape shape{.collective = Collective::kBroadcast, .ranks = 3, .count = 1000};
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(expected_of(shape, rank), input_of(shape, 0));
}

TEST(TestPattern, ReduceScatterReducesAsAllReduceDoes) {
  const PatternShape whole{.ranks = 3, .count = 999};
  PatternShape parts = whole;
  parts.collective = Collective::kReduceScatter;
  EXPECT_EQ(expected_of(parts, 2), expected_of(whole, 0));
}

// What lands a power of two beside its place, or comes from another rank or run, is not the same.
TEST(TestPattern, DiffersByPlaceRankAndRun) {
  const PatternShape shape{.collective = Collective::kSendRecv, .ranks = 2, .count = 1 << 20};
  const TestPattern pattern(shape, 0);
  std::vector<std::byte> here(4096);
  pattern.input(0, here);
  std::set<std::vector<std::byte>> seen{here};
  for (std::int64_t at = 1; at < shape.count; at *= 2) {
    std::vector<std::byte> there(here.size());
    pattern.input(at, there);
    EXPECT_TRUE(seen.insert(there).second) << at;
  }
  PatternShape again = shape;
  again.salt = 1;
  EXPECT_NE(input_of(shape, 0), input_of(shape, 1));
  EXPECT_NE(input_of(shape, 0), input_of(again, 0));
}

TEST(TestPattern, IsTheSameInPieces) {
  const PatternShape shape{.datatype = DataType::kFp16, .ranks = 2, .count = 200'000};
  const TestPattern pattern(shape, 1);
  const std::vector<std::byte> whole = input_of(shape, 1);
  std::vector<std::byte> pieces;
  for (std::int64_t first = 0; first < shape.count; first += 777) {
    std::vector<std::byte> piece(
        static_cast<std::size_t>(2 * std::min<std::int64_t>(777, shape.count - first)));
    pattern.input(first, piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
}

}  // namespace
}  // namespace gradhaul
