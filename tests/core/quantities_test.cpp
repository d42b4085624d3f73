#include "core/quantities.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

using namespace literals;

// PCIe 5.0 x16: 32 GT/s a lane, 128b/130b.
constexpr BitRate kPcie5x16{32'000'000'000LL * 16 * 128 / 130};
constexpr BitRate kPcie4x16{16'000'000'000LL * 16 * 128 / 130};

TEST(Quantities, TimeAndDurationCombineAsInstantsAndDistancesDo) {
  constexpr Time kStart{5};
  static_assert((kStart + 3_ns).ps == 3005);
  static_assert((kStart + 3_ns) - kStart == 3_ns);
  static_assert(1_us == 1000 * 1_ns && 1_ns == 1000 * 1_ps);
  static_assert(kStart < kNever);
  EXPECT_DOUBLE_EQ((2_us + 500_ns).microseconds(), 2.5);
  EXPECT_DOUBLE_EQ((3_us).seconds(), 3e-6);
}

TEST(Quantities, LiteralsMeanBinaryMemoryAndDecimalRates) {
  static_assert(512_KiB == 524288_B && 1_MiB == 1024_KiB);
  static_assert(50_GBps == 400_Gbps);
  EXPECT_DOUBLE_EQ((400_Gbps).gigabytes_per_second(), 50.0);
}

TEST(Quantities, SerialisesExactlyWhereTheRateDividesTheSecond) {
  static_assert(serialisation_time(1_B, 400_Gbps) == 20_ps);
  static_assert(serialisation_time(4096_B, 400_Gbps) == Duration{81'920});
  static_assert(serialisation_time(1_B, kUnlimited) == 0_ps);
}

// A time per byte truncated to 15 ps would be 5.5 % off.
TEST(Quantities, SerialisesPcie5x16At15869FemtosecondsAByte) {
  EXPECT_EQ(kPcie5x16.bits_per_second, 504'123'076'923);
  // 8 / 504.123076923 Gb/s = 15.869140625 ps.
  EXPECT_EQ(serialisation_time(1_B, kPcie5x16), 16_ps);
  EXPECT_EQ(serialisation_time(1000_B, kPcie5x16), Duration{15'870});
  EXPECT_EQ(serialisation_time(Bytes{1'000'000'000}, kPcie5x16), Duration{15'869'140'626});
}

TEST(Quantities, SingleTransferIsNeverFasterThanItsRate) {
  for (const BitRate rate : {kPcie4x16, kPcie5x16, 100_Gbps, 7_Gbps}) {
    for (std::int64_t n = 1; n < 5000; n += 7) {
      const std::int64_t work = n * 8 * 1'000'000'000'000;
      const std::int64_t time = serialisation_time(Bytes{n}, rate).ps;
      EXPECT_GE(Int128{time} * rate.bits_per_second, work);
      EXPECT_LT(Int128{time - 1} * rate.bits_per_second, work);
    }
  }
}

TEST(Quantities, TrainsHoldTheirRateToAPicosecond) {
  for (const BitRate rate : {kPcie4x16, kPcie5x16, 400_Gbps, 7_Gbps, BitRate{999'999'999'989}}) {
    for (const std::int64_t packet : {1, 64, 281, 4096 + 26}) {
      SerialisationCarry carry;
      Duration train;
      std::int64_t sent = 0;
      for (int i = 0; i < 20'000; ++i) {
        train += serialisation_time(Bytes{packet}, rate, carry);
        sent += packet;
        ASSERT_LT(carry.remainder, rate.bits_per_second);
        // Never ahead, and less than one picosecond behind: the floor of the exact time.
        const Int128 exact = Int128{sent} * 8 * 1'000'000'000'000;
        ASSERT_EQ(train.ps, static_cast<std::int64_t>(exact / rate.bits_per_second));
      }
    }
  }
}

TEST(Quantities, TrainsOfLargePiecesDoNotOverflow) {
  SerialisationCarry carry;
  Duration train;
  for (int i = 0; i < 1000; ++i) {
    train += serialisation_time(Bytes{100'000'000'000}, 400_Gbps, carry);
  }
  EXPECT_EQ(train.ps, 1000 * 2'000'000'000'000);
}

TEST(QuantitiesDeathTest, LinkNeedsARate) {
  EXPECT_DEATH(serialisation_time(1_B, BitRate{0}), "a link needs a rate");
}

}  // namespace
}  // namespace gradhaul
