#include "sim/link_digest.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/sim/draws.h"

namespace gradhaul {
namespace {

using examples::Draws;

// Schoolbook: doubles and adds, never exceeding 2^62.
std::uint64_t slow_multiply_mod(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) product = (product + a) % kDigestModulus;
    a = a * 2 % kDigestModulus;
  }
  return product;
}

TEST(LinkDigest, MultipliesModuloTheMersennePrime) {
  EXPECT_EQ(kDigestModulus, 2305843009213693951U);
  EXPECT_EQ(multiply_mod(kDigestModulus - 1, kDigestModulus - 1), 1U);
  Draws draws(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t a = mix64(static_cast<std::uint64_t>(i)) % kDigestModulus;
    const std::uint64_t b = mix64(a + 7) % kDigestModulus;
    ASSERT_EQ(multiply_mod(a, b), slow_multiply_mod(a, b)) << a << " * " << b;
  }
}

struct Record {
  std::int64_t start;
  std::int64_t ordinal;
  std::int64_t step;
};

LinkDigest digest_of(const std::vector<Record>& records) {
  LinkDigest digest;
  for (const Record& r : records) digest.add(r.start, LinkDigest::part(r.ordinal, r.step));
  return digest;
}

TEST(LinkDigest, EveryPartOfARecordAndTheirOrderCount) {
  const std::vector<Record> base{{10, 0, 1}, {30, 1, 1}, {60, 0, 1}, {90, 2, 2}};
  const std::uint64_t value = digest_of(base).reduced();
  EXPECT_EQ(digest_of(base).reduced(), value);
  EXPECT_EQ(digest_of(base).count, 4);
  EXPECT_EQ(digest_of(base).last_start, 90);
  EXPECT_LT(value, kDigestModulus);
  for (std::size_t i = 0; i < base.size(); ++i) {
    for (int part = 0; part < 3; ++part) {
      std::vector<Record> changed = base;
      if (part == 0) changed[i].start += 1;
      if (part == 1) changed[i].ordinal += 1;
      if (part == 2) changed[i].step += 1;
      EXPECT_NE(digest_of(changed).reduced(), value) << "record " << i << " part " << part;
    }
  }
  std::vector<Record> swapped = base;
  std::swap(swapped[0].ordinal, swapped[1].ordinal);
  EXPECT_NE(digest_of(swapped).reduced(), value);
  EXPECT_NE(digest_of({base.begin(), base.end() - 1}).reduced(), value);
}

// d K + h modulo the prime, computed the slow way: the quick one folds without comparing.
TEST(LinkDigest, AddsRecordsModuloThePrime) {
  LinkDigest digest;
  std::uint64_t expected = 0;
  std::int64_t start = 0;
  Draws draws(2);
  for (int i = 0; i < 20'000; ++i) {
    start += draws.below(200'000);
    const std::uint64_t part = LinkDigest::part(draws.below(9), 1);
    expected =
        (slow_multiply_mod(expected, kDigestFactor) + digest.record(start, part)) % kDigestModulus;
    digest.add(start, part);
    ASSERT_EQ(digest.reduced(), expected) << "record " << i;
  }
}

// Only differences enter: the same service at a later time differs in its first record alone.
TEST(LinkDigest, APeriodIsOneAffineMap) {
  const std::vector<Record> period{{5, 0, 1}, {17, 1, 1}, {40, 0, 2}, {41, 3, 1}};
  constexpr std::int64_t kLength = 50;
  const auto run = [&](LinkDigest& digest, std::int64_t from) {
    for (const Record& r : period) digest.add(from + r.start, LinkDigest::part(r.ordinal, r.step));
  };
  // d -> a d + b over one period: a = K^4, and b from any one application of it.
  const std::uint64_t a = multiply_mod(multiply_mod(kDigestFactor, kDigestFactor),
                                       multiply_mod(kDigestFactor, kDigestFactor));
  LinkDigest digest;
  run(digest, 0);
  const std::uint64_t before = digest.reduced();
  run(digest, kLength);
  const std::uint64_t b =
      (digest.reduced() + kDigestModulus - multiply_mod(before, a)) % kDigestModulus;
  for (int n = 2; n < 50; ++n) {
    const std::uint64_t expected = (multiply_mod(digest.reduced(), a) + b) % kDigestModulus;
    run(digest, n * kLength);
    ASSERT_EQ(digest.reduced(), expected) << "period " << n;
  }
}

TEST(RunDigest, DependsOnEachNumberAndTheirOrder) {
  const auto of = [](const std::vector<std::uint64_t>& numbers) {
    RunDigest digest;
    for (const std::uint64_t number : numbers) digest.add(number);
    return digest.value();
  };
  EXPECT_EQ(of({1, 2, 3}), of({1, 2, 3}));
  EXPECT_NE(of({1, 2, 3}), of({1, 3, 2}));
  EXPECT_NE(of({1, 2, 3}), of({1, 2, 4}));
  EXPECT_NE(of({1, 2, 3}), of({1, 2}));
  EXPECT_NE(of({0}), of({}));
}

// n more periods at once are what adding them one by one gives; what was served before them too.
TEST(LinkDigest, RepeatsAPeriod) {
  Draws draws(3);
  for (int world = 0; world < 200; ++world) {
    std::vector<Record> period(static_cast<std::size_t>(draws.between(0, 7)));
    std::int64_t length = 0;
    for (Record& record : period) {
      length += draws.between(1, 90'000);
      record = {length, draws.below(4), draws.below(3)};
    }
    LinkDigest stepped;
    stepped.add(17, LinkDigest::part(1, 1));
    std::int64_t begin = 17;
    const auto add_period = [&] {
      for (const Record& record : period) {
        stepped.add(begin + record.start, LinkDigest::part(record.ordinal, record.step));
      }
      begin += length;
    };
    add_period();
    const LinkDigest since = stepped;
    add_period();
    LinkDigest repeated = stepped;
    const std::int64_t times = draws.below(30);
    for (std::int64_t i = 0; i < times; ++i) add_period();
    repeated.repeat(since, times);
    ASSERT_EQ(repeated.reduced(), stepped.reduced())
        << period.size() << " records, " << times << " times";
    ASSERT_EQ(repeated.count, stepped.count);
  }
}

}  // namespace
}  // namespace gradhaul
