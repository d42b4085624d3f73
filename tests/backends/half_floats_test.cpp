#include "backends/cpu/half_floats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "tests/oracles/element_oracle.h"

namespace gradhaul {
namespace {

constexpr std::uint32_t kHalves = 1U << 16;

// Floats on either side of every decision a rounding to `type` can take: each half, the midpoint
// to the next, and their neighbours.
template <typename Check>
void for_each_decision(DataType type, const Check& check) {
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    const double here = oracle::value_of(type, half);
    const double next = oracle::value_of(type, (half + 1) & 0xffffU);
    for (const double value : {here, (here + next) / 2}) {
      const auto rounded = static_cast<float>(value);
      check(rounded);
      check(std::nextafter(rounded, INFINITY));
      check(std::nextafter(rounded, -INFINITY));
    }
  }
}

template <typename Narrow>
void expect_narrows_as_oracle(DataType type, const Narrow& narrow) {
  std::int64_t wrong = 0;
  const auto check = [&](float value) {
    const std::uint32_t expected = oracle::element_of(type, value);
    if (narrow(value) == expected) return;
    if (++wrong < 10) ADD_FAILURE() << std::hexfloat << value << " became " << narrow(value);
  };
  for_each_decision(type, check);
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i)
    check(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  EXPECT_EQ(wrong, 0);
}

TEST(HalfFloats, EveryFp16WidensToItsValue) {
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    const double expected = oracle::value_of(DataType::kFp16, half);
    const float widened = float_from_fp16(static_cast<std::uint16_t>(half));
    ASSERT_EQ(std::isnan(widened), std::isnan(expected)) << half;
    if (std::isnan(expected)) continue;
    ASSERT_EQ(widened, expected) << half;
    ASSERT_EQ(std::signbit(widened), std::signbit(expected)) << half;
  }
}

TEST(HalfFloats, EveryBf16IsTheUpperHalfOfItsFloat) {
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    const float widened = float_from_bf16(static_cast<std::uint16_t>(half));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(widened), half << 16);
  }
}

TEST(HalfFloats, EveryHalfThatIsANumberComesBack) {
  for (std::uint32_t half = 0; half < kHalves; ++half) {
    const auto element = static_cast<std::uint16_t>(half);
    const float fp16 = float_from_fp16(element);
    ASSERT_EQ(fp16_from_float(fp16), std::isnan(fp16) ? 0x7fffU : half);
    const float bf16 = float_from_bf16(element);
    ASSERT_EQ(bf16_from_float(bf16), std::isnan(bf16) ? 0x7fffU : half);
  }
}

TEST(HalfFloats, Fp16RoundsToNearestEven) {
  expect_narrows_as_oracle(DataType::kFp16, fp16_from_float);
}

TEST(HalfFloats, Bf16RoundsToNearestEven) {
  expect_narrows_as_oracle(DataType::kBf16, bf16_from_float);
}

// Values that IEEE 754-2019 table 3.5 and the definition of bf16 give.
TEST(HalfFloats, KnownValues) {
  EXPECT_EQ(fp16_from_float(1.0f), 0x3c00);
  EXPECT_EQ(fp16_from_float(-2.0f), 0xc000);
  EXPECT_EQ(fp16_from_float(65504.0f), 0x7bff);
  EXPECT_EQ(fp16_from_float(65519.996f), 0x7bff);
  EXPECT_EQ(fp16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(fp16_from_float(0x1p-24f), 0x0001);
  EXPECT_EQ(fp16_from_float(0x1p-25f), 0x0000);
  EXPECT_EQ(fp16_from_float(0x1.8p-24f), 0x0002);
  EXPECT_EQ(fp16_from_float(-0.0f), 0x8000);
  EXPECT_EQ(bf16_from_float(1.0f), 0x3f80);
  EXPECT_EQ(bf16_from_float(0x1.01p0f), 0x3f80);
  EXPECT_EQ(bf16_from_float(0x1.03p0f), 0x3f82);
  EXPECT_EQ(bf16_from_float(0x1.fffffep127f), 0x7f80);
}

}  // namespace
}  // namespace gradhaul
