#include "scenarios/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradhaul {
namespace {

using testing::HasSubstr;

std::int64_t value_of(std::string_view text, Dimension dimension) {
  const auto parsed = parse_quantity(text, dimension);
  EXPECT_TRUE(parsed.value) << text << " " << parsed.error;
  return parsed.value.value_or(-1);
}

std::string error_of(std::string_view text, Dimension dimension) {
  const auto parsed = parse_quantity(text, dimension);
  EXPECT_FALSE(parsed.value) << text;
  return parsed.error;
}

TEST(Quantity, TellsBitsFromBytes) {
  EXPECT_EQ(value_of("400Gb/s", Dimension::kRate), 400'000'000'000);
  EXPECT_EQ(value_of("50GB/s", Dimension::kRate), 400'000'000'000);
  EXPECT_EQ(value_of("1KiB/s", Dimension::kRate), 8192);
  EXPECT_EQ(value_of("1Kib/s", Dimension::kRate), 1024);
}

TEST(Quantity, TellsPowersOfAThousandFromPowersOf1024) {
  EXPECT_EQ(value_of("25GB", Dimension::kSize), 25'000'000'000);
  EXPECT_EQ(value_of("4KiB", Dimension::kSize), 4096);
  EXPECT_EQ(value_of("1kB", Dimension::kSize), 1000);
  EXPECT_EQ(value_of("1MiB", Dimension::kSize), 1048576);
  EXPECT_EQ(value_of("2TiB", Dimension::kSize), std::int64_t{2} << 40);
  EXPECT_EQ(value_of("7B", Dimension::kSize), 7);
}

TEST(Quantity, ReadsTimesAndLengths) {
  EXPECT_EQ(value_of("1.5us", Dimension::kTime), 1'500'000);
  EXPECT_EQ(value_of("1.5µs", Dimension::kTime), 1'500'000);
  EXPECT_EQ(value_of("200ns", Dimension::kTime), 200'000);
  EXPECT_EQ(value_of("1ps", Dimension::kTime), 1);
  EXPECT_EQ(value_of("2s", Dimension::kTime), 2'000'000'000'000);
  EXPECT_EQ(value_of("10m", Dimension::kLength), 10'000);
  EXPECT_EQ(value_of("1.5m", Dimension::kLength), 1'500);
  EXPECT_EQ(value_of("2km", Dimension::kLength), 2'000'000);
}

TEST(Quantity, AllowsASpaceSignsAndExponents) {
  EXPECT_EQ(value_of("400 Gb/s", Dimension::kRate), 400'000'000'000);
  EXPECT_EQ(value_of(" 4 KiB ", Dimension::kSize), 4096);
  EXPECT_EQ(value_of("+3B", Dimension::kSize), 3);
  EXPECT_EQ(value_of("-3B", Dimension::kSize), -3);
  EXPECT_EQ(value_of("1e3B", Dimension::kSize), 1000);
  EXPECT_EQ(value_of("0B", Dimension::kSize), 0);
}

TEST(Quantity, IsExact) {
  EXPECT_EQ(value_of("0.1GB", Dimension::kSize), 100'000'000);
  EXPECT_EQ(value_of("252.06Gb/s", Dimension::kRate), 252'060'000'000);
  EXPECT_EQ(value_of("0.125KiB", Dimension::kSize), 128);
  EXPECT_EQ(value_of("9.999999999s", Dimension::kTime), 9'999'999'999'000);
  EXPECT_THAT(error_of("1.5B", Dimension::kSize), HasSubstr("not a whole number of bytes"));
  EXPECT_THAT(error_of("0.3KiB", Dimension::kSize), HasSubstr("not a whole number of bytes"));
  EXPECT_THAT(error_of("0.1ps", Dimension::kTime), HasSubstr("picoseconds"));
}

TEST(Quantity, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of("9999999TiB", Dimension::kSize), HasSubstr("too large"));
  EXPECT_THAT(error_of("1e300s", Dimension::kTime), HasSubstr("too large"));
  EXPECT_THAT(error_of("1e-300s", Dimension::kTime), HasSubstr("not a whole number"));
  EXPECT_THAT(error_of("12345678901234567890B", Dimension::kSize), HasSubstr("too many digits"));
}

TEST(Quantity, SaysWhichUnitsFitABareNumber) {
  EXPECT_THAT(error_of("512", Dimension::kSize), HasSubstr("KiB, MiB, GiB or TiB"));
  EXPECT_THAT(error_of("400", Dimension::kRate), HasSubstr("Gb/s (bits), GB/s (bytes)"));
  EXPECT_THAT(error_of("5", Dimension::kTime), HasSubstr("ps, ns, us, ms or s"));
  EXPECT_THAT(error_of("3", Dimension::kLength), HasSubstr("cm, m or km"));
}

TEST(Quantity, SaysWhatKindOfUnitWasGiven) {
  EXPECT_THAT(error_of("400Gb", Dimension::kRate), HasSubstr("400Gb/s?"));
  EXPECT_THAT(error_of("400GB", Dimension::kRate), HasSubstr("400GB/s?"));
  EXPECT_THAT(error_of("8Gb", Dimension::kSize), HasSubstr("8GB?"));
  EXPECT_THAT(error_of("1Mib", Dimension::kSize), HasSubstr("1MiB?"));
  EXPECT_THAT(error_of("8b", Dimension::kSize), HasSubstr("8B?"));
  EXPECT_THAT(error_of("5ms", Dimension::kSize), HasSubstr("is a time, and a size is meant"));
  EXPECT_THAT(error_of("5m", Dimension::kTime), HasSubstr("is a length, and a time is meant"));
  EXPECT_THAT(error_of("400Gbps", Dimension::kRate), HasSubstr("did you mean \"Gb/s\"?"));
  EXPECT_THAT(error_of("64KB", Dimension::kSize), HasSubstr("did you mean \"kB\"?"));
}

TEST(Quantity, RefusesWhatIsNoNumber) {
  for (const char* text : {"", " ", "B", "many", "-", ".", "e3B", "--1B", "0x10B", "1,5GB", "nanB",
                           "infGB", "1.2.3B", "1_000B", "1e+B"}) {
    EXPECT_FALSE(parse_quantity(text, Dimension::kSize).value) << text;
  }
}

TEST(Count, ReadsWholeNumbersExactly) {
  EXPECT_EQ(parse_count("8").value, 8);
  EXPECT_EQ(parse_count("7e9").value, 7'000'000'000);
  EXPECT_EQ(parse_count("1.5e3").value, 1500);
  EXPECT_EQ(parse_count("9007199254740993").value, 9007199254740993);  // no double holds it
  EXPECT_EQ(parse_count("9223372036854775807").value, 9223372036854775807);
  EXPECT_FALSE(parse_count("9223372036854775808").value);
  EXPECT_EQ(parse_count("-1").value, -1);
  EXPECT_FALSE(parse_count("7.5").value);
  EXPECT_FALSE(parse_count("8B").value);
  EXPECT_FALSE(parse_count("0x8").value);
  EXPECT_FALSE(parse_count("").value);
  EXPECT_FALSE(parse_count("1e19").value);
}

TEST(Real, ReadsBareNumbers) {
  EXPECT_EQ(parse_real("0.03").value, 0.03);
  EXPECT_EQ(parse_real("1e-10").value, 1e-10);
  EXPECT_EQ(parse_real("+2").value, 2);
  EXPECT_FALSE(parse_real("3%").value);
  EXPECT_FALSE(parse_real("nan").value);
  EXPECT_FALSE(parse_real("inf").value);
  EXPECT_FALSE(parse_real("1e999").value);
}

TEST(Format, IsShort) {
  EXPECT_EQ(format_bytes({14'000'000'000}), "14GB");
  EXPECT_EQ(format_bytes({512 * 1024}), "512KiB");
  EXPECT_EQ(format_bytes({1}), "1B");
  EXPECT_EQ(format_bytes({0}), "0B");
  EXPECT_EQ(format_bytes({1500}), "1500B");
  EXPECT_EQ(format_duration({1'500'000}), "1.5us");
  EXPECT_EQ(format_duration({200'000}), "200ns");
  EXPECT_EQ(format_rate({400'000'000'000}), "400Gb/s");
  EXPECT_EQ(format_rate(kUnlimited), "unlimited");
}

TEST(Format, ComesBackTheSame) {
  for (const Dimension dimension :
       {Dimension::kSize, Dimension::kRate, Dimension::kTime, Dimension::kLength}) {
    for (std::int64_t value = 1; value < 4'000'000'000'000'000'000 / 7; value = value * 7 / 2 + 1) {
      EXPECT_EQ(value_of(format_quantity(value, dimension), dimension), value);
      EXPECT_EQ(value_of(format_quantity(value * 1000, dimension), dimension), value * 1000);
      EXPECT_EQ(value_of(format_quantity(-value, dimension), dimension), -value);
      if (value > 4'000'000'000'000'000) break;
    }
  }
}

}  // namespace
}  // namespace gradhaul
