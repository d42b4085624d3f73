#pragma once

// What a link served, in one number: d <- d K + h(record) mod 2^61 - 1, in service order. A record
// holds only differences, so that a period of a recurring run is one affine map of d: start minus
// the previous start on the link, the flow's ordinal on the link, its sequence number minus that
// flow's previous one there.

#include <cstdint>

#include "core/quantities.h"

namespace gradhaul {

inline constexpr std::uint64_t kDigestModulus = (std::uint64_t{1} << 61) - 1;
inline constexpr std::uint64_t kDigestFactor = 0x1F3A5C7E9B2D4F61 % kDigestModulus;

// A bijective mixer (the finaliser of SplitMix64, Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

constexpr std::uint64_t multiply_mod(std::uint64_t a, std::uint64_t b) {
  // Both are below 2^61, their product below 2^122.
  const auto product = static_cast<Int128>(a) * static_cast<Int128>(b);
  const std::uint64_t reduced = static_cast<std::uint64_t>(product & kDigestModulus) +
                                static_cast<std::uint64_t>(product >> 61);
  return reduced >= kDigestModulus ? reduced - kDigestModulus : reduced;
}

constexpr std::uint64_t add_mod(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t sum = a + b;
  return sum >= kDigestModulus ? sum - kDigestModulus : sum;
}

constexpr std::uint64_t power_mod(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = multiply_mod(power, base);
    base = multiply_mod(base, base);
  }
  return power;
}

struct LinkDigest {
  std::uint64_t value = 0;  // or the modulus more: see reduced()
  std::int64_t count = 0;
  std::int64_t last_start = 0;

  // What a record holds of the flow and its packet.
  static constexpr std::uint64_t part(std::int64_t flow_ordinal, std::int64_t sequence_step) {
    return mix64(static_cast<std::uint64_t>(flow_ordinal) * 0x9E3779B97F4A7C15 +
                 static_cast<std::uint64_t>(sequence_step));
  }
  std::uint64_t record(std::int64_t start, std::uint64_t of_packet) const {
    return mix64(static_cast<std::uint64_t>(start - last_start) + of_packet) & kDigestModulus;
  }
  void add(std::int64_t start, std::uint64_t of_packet) {
    add_uncounted(start, of_packet);
    ++count;
  }
  // Whoever adds many counts them himself. No branches: nobody could foretell them.
  void add_uncounted(std::int64_t start, std::uint64_t of_packet) {
    fold(record(start, of_packet));
    last_start = start;
  }
  void fold(std::uint64_t folded) {
    const auto product = static_cast<Int128>(value) * static_cast<Int128>(kDigestFactor);
    const std::uint64_t sum = (static_cast<std::uint64_t>(product) & kDigestModulus) +
                              static_cast<std::uint64_t>(product >> 61) + folded;
    value = (sum & kDigestModulus) + (sum >> 61);
  }
  std::uint64_t reduced() const { return value >= kDigestModulus ? value - kDigestModulus : value; }

  // As if what was added since `since` came `times` more: an affine map to its power. The records
  // must have been the same; `last_start` is the caller's.
  void repeat(const LinkDigest& since, std::int64_t times) {
    const std::int64_t added = count - since.count;
    if (added == 0 || times == 0) return;
    const std::uint64_t factor = power_mod(kDigestFactor, static_cast<std::uint64_t>(added));
    value = reduced();
    std::uint64_t term = add_mod(value, kDigestModulus - multiply_mod(since.reduced(), factor));
    std::uint64_t step = factor;
    for (auto left = static_cast<std::uint64_t>(times); left > 0; left >>= 1) {
      if ((left & 1) != 0) value = add_mod(multiply_mod(value, step), term);
      term = add_mod(multiply_mod(term, step), term);
      step = multiply_mod(step, step);
    }
    count += added * times;
  }
};

// Folds numbers into one 64-bit digest, in the order given.
class RunDigest {
 public:
  void add(std::uint64_t number) { value_ = mix64(value_ ^ (number + 0x9E3779B97F4A7C15)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x67726164'6861756C;  // "gradhaul"
};

}  // namespace gradhaul
