#include "backends/cpu/element_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/backends/element_operands.h"

namespace gradhaul {
namespace {

class ElementKernelsTest : public testing::TestWithParam<InstructionSet> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "this machine has not these instructions";
  }
};

TEST_P(ElementKernelsTest, GiveTheOraclesBits) {
  for (const DataType type : kDataTypes) {
    const auto [left, right] = operands_of(type);
    const std::vector<std::byte> left_bytes = packed(type, left);
    const std::vector<std::byte> right_bytes = packed(type, right);
    for (const NamedOperation& named : kOperations) {
      std::vector<std::byte> target(left_bytes.size());
      element_kernels(GetParam())
          .at(type, named.operation)({.target = target.data(),
                                      .left = left_bytes.data(),
                                      .right = right_bytes.data(),
                                      .count = static_cast<std::int64_t>(left.size()),
                                      .divisor = named.divisor});
      const Elements result = unpacked(type, target.data(), left.size());
      int wrong = 0;
      for (std::size_t i = 0; i < left.size() && wrong < 5; ++i) {
        const std::uint32_t expected =
            oracle::reduced({type, named.reduction, named.divisor}, left[i], right[i]);
        if (result[i] == expected) continue;
        ++wrong;
        ADD_FAILURE() << std::hex << left[i] << " and " << right[i] << " gave " << result[i]
                      << ", not " << expected << ", type " << static_cast<int>(type)
                      << ", operation " << static_cast<int>(named.operation);
      }
    }
  }
}

// x + -0 is x and max(x, x) is x, for every half that is a number.
TEST_P(ElementKernelsTest, LeaveEveryHalfAsItIs) {
  for (const DataType type : {DataType::kFp16, DataType::kBf16}) {
    Elements halves;
    Elements expected;
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
      halves.push_back(half);
      expected.push_back(std::isnan(oracle::value_of(type, half)) ? 0x7fff : half);
    }
    const std::vector<std::byte> left = packed(type, halves);
    const std::vector<std::byte> zeros = packed(type, Elements(halves.size(), 0x8000));
    std::vector<std::byte> target(left.size());
    const auto count = static_cast<std::int64_t>(halves.size());
    const ElementKernels& kernels = element_kernels(GetParam());
    kernels.at(type, ElementOperation::kSum)({target.data(), left.data(), zeros.data(), count, 1});
    EXPECT_EQ(unpacked(type, target.data(), halves.size()), expected);
    kernels.at(type, ElementOperation::kMax)({target.data(), left.data(), left.data(), count, 1});
    EXPECT_EQ(unpacked(type, target.data(), halves.size()), expected);
  }
}

// Every length around the widest vectors, at every misalignment, in place of either operand;
// nothing around the target is touched.
TEST_P(ElementKernelsTest, WorkAtAnyLengthAndPlace) {
  constexpr std::size_t kMargin = 64;
  for (const DataType type : kDataTypes) {
    const auto [left, right] = operands_of(type);
    const auto size = static_cast<std::size_t>(size_of(type).count);
    for (std::size_t count = 1; count < 140; ++count) {
      const std::size_t offset = count % 5;
      const std::vector<std::byte> left_bytes =
          packed(type, {left.begin() + 700, left.begin() + 900});
      const std::vector<std::byte> right_bytes =
          packed(type, {right.begin() + 700, right.begin() + 900});
      std::vector<std::byte> memory(2 * kMargin + count * size, std::byte{0x55});
      std::byte* target = memory.data() + kMargin + offset;
      const bool in_left = count % 3 != 0;
      std::memcpy(target, in_left ? left_bytes.data() : right_bytes.data(), count * size);
      element_kernels(GetParam())
          .at(type, ElementOperation::kSum)({.target = target,
                                             .left = in_left ? target : left_bytes.data(),
                                             .right = in_left ? right_bytes.data() : target,
                                             .count = static_cast<std::int64_t>(count),
                                             .divisor = 1});
      const Elements result = unpacked(type, target, count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(result[i],
                  oracle::reduced({type, Reduction::kSum, 1}, left[700 + i], right[700 + i]));
      }
      for (std::size_t i = 0; i < memory.size(); ++i) {
        const bool inside = i >= kMargin + offset && i < kMargin + offset + count * size;
        ASSERT_TRUE(inside || memory[i] == std::byte{0x55}) << "outside the target";
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<InstructionSet>& info) {
  constexpr std::array kNames{"Baseline", "Avx2", "Avx512"};
  return kNames[static_cast<std::size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(, ElementKernelsTest,
                         testing::Values(InstructionSet::kBaseline, InstructionSet::kAvx2,
                                         InstructionSet::kAvx512),
                         name_of);

// The oracle itself, against what the standards say outright.
TEST(ElementOracle, KnownResults) {
  using oracle::reduced;
  const auto sum = [](DataType type, std::uint32_t a, std::uint32_t b) {
    return reduced({type, Reduction::kSum, 1}, a, b);
  };
  EXPECT_EQ(sum(DataType::kFp32, 0x3f800000, 0x3f800000), 0x40000000U);  // 1 + 1 = 2
  EXPECT_EQ(sum(DataType::kFp32, 0x4b800000, 0x3f800000), 0x4b800000U);  // 2^24 + 1, tie to even
  EXPECT_EQ(sum(DataType::kFp32, 0x4b800001, 0x3f800000),
            0x4b800002U);  // 2^24 + 2 + 1, tie to even
  EXPECT_EQ(sum(DataType::kFp32, 0x7f800000, 0xff800000), 0x7fffffffU);     // inf - inf
  EXPECT_EQ(sum(DataType::kFp16, 0x7bff, 0x7bff), 0x7c00U);                 // overflow
  EXPECT_EQ(sum(DataType::kFp16, 0x0001, 0x0001), 0x0002U);                 // subnormals
  EXPECT_EQ(sum(DataType::kBf16, 0x3f80, 0x3b80), 0x3f80U);                 // 1 + 2^-8, tie to even
  EXPECT_EQ(sum(DataType::kInt32, 0x7fffffff, 1), 0x80000000U);             // wraps
  EXPECT_EQ(sum(DataType::kInt8, 0x7f, 1), 0x80U);                          // wraps to -128
  EXPECT_EQ(sum(DataType::kUint8, 0xff, 1), 0U);                            // wraps
  EXPECT_EQ(reduced({DataType::kInt32, Reduction::kAvg, 2}, -7U, 0), -3U);  // towards zero
  EXPECT_EQ(reduced({DataType::kInt8, Reduction::kAvg, 2}, 0xf9, 0), 0xfdU);
  EXPECT_EQ(reduced({DataType::kUint8, Reduction::kAvg, 2}, 0xf9, 0), 0x7cU);  // 249 / 2
  EXPECT_EQ(reduced({DataType::kInt8, Reduction::kMax, 1}, 0x80, 1), 1U);
  EXPECT_EQ(reduced({DataType::kUint8, Reduction::kMax, 1}, 0x80, 1), 0x80U);
  EXPECT_EQ(reduced({DataType::kFp32, Reduction::kMax, 1}, 0x7fc00000, 0x3f800000), 0x3f800000U);
  EXPECT_EQ(reduced({DataType::kFp32, Reduction::kMin, 1}, 0x3f800000, 0xffc00001), 0x3f800000U);
  EXPECT_EQ(reduced({DataType::kFp32, Reduction::kMax, 1}, 0x80000000, 0), 0U);
  EXPECT_EQ(reduced({DataType::kFp32, Reduction::kMin, 1}, 0, 0x80000000), 0x80000000U);
  EXPECT_EQ(reduced({DataType::kFp16, Reduction::kMax, 1}, 0xfe00, 0x7d01), 0x7fffU);
}

}  // namespace
}  // namespace gradhaul
