#include "analysis/quantity_text.h"

#include <gtest/gtest.h>

namespace gradhaul {
namespace {

TEST(QuantityText, DurationsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(duration_text(Duration{0}), "0 us");
  EXPECT_EQ(duration_text(Duration{7}), "7 ps");
  EXPECT_EQ(duration_text(Duration{850'000}), "850 ns");
  EXPECT_EQ(duration_text(Duration{999'600}), "1.00 us");
  EXPECT_EQ(duration_text(Duration{1'234'567}), "1.23 us");
  EXPECT_EQ(duration_text(Duration{70'123'456'789}), "70.1 ms");
  EXPECT_EQ(duration_text(Duration{9'999'000'000}), "10.0 ms");
  EXPECT_EQ(duration_text(Duration{3'600'000'000'000'000}), "3600 s");
}

TEST(QuantityText, APartIsToldInTheUnitOfTheWhole) {
  EXPECT_EQ(duration_of_text(Duration{64'100'000'000}, Duration{70'100'000'000}),
            "64.1 of 70.1 ms");
  EXPECT_EQ(duration_of_text(Duration{0}, Duration{70'100'000'000}), "0.00 of 70.1 ms");
}

TEST(QuantityText, BytesCountInThousands) {
  EXPECT_EQ(bytes_text(Bytes{0}), "0 B");
  EXPECT_EQ(bytes_text(Bytes{8}), "8 B");
  EXPECT_EQ(bytes_text(Bytes{27'125'000'000}), "27.1 GB");
  EXPECT_EQ(bytes_text(Bytes{1'048'576}), "1.05 MB");
}

TEST(QuantityText, SmallSharesKeepADigit) {
  EXPECT_EQ(percent_text(0.97), "97 %");
  EXPECT_EQ(percent_text(0.004), "0.4 %");
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(1), "100 %");
}

TEST(QuantityText, CountsFromAMillionOnAreRounded) {
  EXPECT_EQ(count_text(999'999), "999999");
  EXPECT_EQ(count_text(4'000'000'000), "4.00 billion");
  EXPECT_EQ(count_text(13'100'000), "13.1 million");
}

// 70123456789 ps times 1e-6 is 70123.45678899999.
TEST(QuantityText, MicrosecondsAreTheNearestDouble) {
  EXPECT_EQ(microseconds(Duration{70'123'456'789}), 70123.456789);
}

}  // namespace
}  // namespace gradhaul
