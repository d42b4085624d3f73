#pragma once

// Strong quantities. Time is integer picoseconds (int64: +-106 days); nothing that orders events is
// ever a double. Only operators with a meaning exist: Time - Time is a Duration, Time + Time is not
// a thing. Rates carry their line coding once, where they are built.

#include <compare>
#include <cstdint>
#include <limits>

#include "core/assert.h"

namespace gradhaul {

struct Duration {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ps + b.ps}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ps - b.ps}; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return {a.ps * n}; }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return {a.ps * n}; }
  constexpr Duration& operator+=(Duration d) { return ps += d.ps, *this; }
  constexpr double microseconds() const { return static_cast<double>(ps) * 1e-6; }
  constexpr double seconds() const { return static_cast<double>(ps) * 1e-12; }
};

struct Time {
  std::int64_t ps = 0;
  friend constexpr auto operator<=>(const Time&, const Time&) = default;
  friend constexpr Time operator+(Time t, Duration d) { return {t.ps + d.ps}; }
  friend constexpr Time operator-(Time t, Duration d) { return {t.ps - d.ps}; }
  friend constexpr Duration operator-(Time a, Time b) { return {a.ps - b.ps}; }
  constexpr Time& operator+=(Duration d) { return ps += d.ps, *this; }
};

inline constexpr Time kNever{std::numeric_limits<std::int64_t>::max()};

struct Bytes {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return {a.count * n}; }
  constexpr Bytes& operator+=(Bytes b) { return count += b.count, *this; }
};

// Bits per second of what is being counted: payload, or wire bytes after line coding; the name of
// the variable says which. kUnlimited serialises in no time.
struct BitRate {
  std::int64_t bits_per_second = 0;
  friend constexpr auto operator<=>(const BitRate&, const BitRate&) = default;
  constexpr bool unlimited() const {
    return bits_per_second == std::numeric_limits<std::int64_t>::max();
  }
  constexpr double gigabytes_per_second() const {
    return static_cast<double>(bits_per_second) / 8e9;
  }
};

inline constexpr BitRate kUnlimited{std::numeric_limits<std::int64_t>::max()};

// What a back-to-back train has not yet been charged, in bit x ps / s; always below the rate. Start
// a new train with zero.
struct SerialisationCarry {
  std::int64_t remainder = 0;
  friend constexpr auto operator<=>(const SerialisationCarry&, const SerialisationCarry&) = default;
};

__extension__ typedef __int128 Int128;  // a compiler extension, which -Wpedantic wants marked

// The one serialisation function: time that `bytes` occupy a link of `rate`, rounded down, what is
// cut off being carried into the next call, so that a train of any length holds its rate to 1 ps.
constexpr Duration serialisation_time(Bytes bytes, BitRate rate, SerialisationCarry& carry) {
  if (rate.unlimited()) return {0};
  GRADHAUL_ASSERT(rate.bits_per_second > 0, "a link needs a rate");
  const Int128 work = Int128{bytes.count} * 8 * 1'000'000'000'000 + carry.remainder;
  carry.remainder = static_cast<std::int64_t>(work % rate.bits_per_second);
  return {static_cast<std::int64_t>(work / rate.bits_per_second)};
}

// The same for a single transfer: rounded up, so that nothing is faster than its rate.
constexpr Duration serialisation_time(Bytes bytes, BitRate rate) {
  SerialisationCarry carry;
  const Duration floor = serialisation_time(bytes, rate, carry);
  return {floor.ps + (carry.remainder > 0 ? 1 : 0)};
}

namespace literals {
constexpr Duration operator""_ps(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Duration operator""_ns(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 1'000};
}
constexpr Duration operator""_us(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 1'000'000};
}
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 1024};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 1024 * 1024};
}
constexpr BitRate operator""_Gbps(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 1'000'000'000};
}
constexpr BitRate operator""_GBps(unsigned long long n) {
  return {static_cast<std::int64_t>(n) * 8'000'000'000};
}
}  // namespace literals

}  // namespace gradhaul
