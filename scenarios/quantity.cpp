#include "scenarios/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;  // base units in one of it
};

constexpr std::int64_t kKibi = 1024;

constexpr std::array kSizeUnits{
    Unit{"B", 1},
    Unit{"kB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"KiB", kKibi},
    Unit{"MiB", kKibi* kKibi},
    Unit{"GiB", kKibi* kKibi* kKibi},
    Unit{"TiB", kKibi* kKibi* kKibi* kKibi},
};
constexpr std::array kRateUnits{
    Unit{"b/s", 1},
    Unit{"kb/s", 1'000},
    Unit{"Mb/s", 1'000'000},
    Unit{"Gb/s", 1'000'000'000},
    Unit{"Tb/s", 1'000'000'000'000},
    Unit{"B/s", 8},
    Unit{"kB/s", 8'000},
    Unit{"MB/s", 8'000'000},
    Unit{"GB/s", 8'000'000'000},
    Unit{"TB/s", 8'000'000'000'000},
    Unit{"Kib/s", kKibi},
    Unit{"Mib/s", kKibi* kKibi},
    Unit{"Gib/s", kKibi* kKibi* kKibi},
    Unit{"Tib/s", kKibi* kKibi* kKibi* kKibi},
    Unit{"KiB/s", 8 * kKibi},
    Unit{"MiB/s", 8 * kKibi* kKibi},
    Unit{"GiB/s", 8 * kKibi* kKibi* kKibi},
    Unit{"TiB/s", 8 * kKibi* kKibi* kKibi* kKibi},
};
constexpr std::array kTimeUnits{
    Unit{"ps", 1},
    Unit{"ns", 1'000},
    Unit{"us", 1'000'000},
    Unit{"ms", 1'000'000'000},
    Unit{"s", 1'000'000'000'000},
    Unit{"µs", 1'000'000},  // accepted, never written
};
constexpr std::array kLengthUnits{Unit{"mm", 1}, Unit{"cm", 10}, Unit{"m", 1'000},
                                  Unit{"km", 1'000'000}};

std::span<const Unit> units_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::kSize:
      return kSizeUnits;
    case Dimension::kRate:
      return kRateUnits;
    case Dimension::kTime:
      return kTimeUnits;
    case Dimension::kLength:
      return kLengthUnits;
  }
  return {};
}

// How units are named to a user: the ones worth offering, not all that parse.
std::string_view unit_list(Dimension dimension) {
  switch (dimension) {
    case Dimension::kSize:
      return "B, kB, MB, GB, TB, KiB, MiB, GiB or TiB";
    case Dimension::kRate:
      return "Gb/s (bits), GB/s (bytes), or the same with k, M, T, Ki, Mi, Gi or Ti";
    case Dimension::kTime:
      return "ps, ns, us, ms or s";
    case Dimension::kLength:
      return "mm, cm, m or km";
  }
  return "";
}

std::string_view whole_unit(Dimension dimension) {
  switch (dimension) {
    case Dimension::kSize:
      return "bytes";
    case Dimension::kRate:
      return "bits per second";
    case Dimension::kTime:
      return "picoseconds";
    case Dimension::kLength:
      return "millimetres";
  }
  return "";
}

// mantissa x 10^exponent
struct Decimal {
  bool negative = false;
  std::int64_t mantissa = 0;
  int exponent = 0;
};

// Moves `digits` past a run of digits, which is added to `decimal`; false where there are too many.
bool take_digits(std::string_view& digits, Decimal& decimal, bool fraction, bool& any) {
  for (; !digits.empty() && digits.front() >= '0' && digits.front() <= '9';
       digits.remove_prefix(1)) {
    any = true;
    const std::int64_t digit = digits.front() - '0';
    if (__builtin_mul_overflow(decimal.mantissa, std::int64_t{10}, &decimal.mantissa) ||
        __builtin_add_overflow(decimal.mantissa, digit, &decimal.mantissa)) {
      return false;
    }
    if (fraction) --decimal.exponent;
  }
  return true;
}

void take_exponent(std::string_view& rest, Decimal& decimal) {
  if (rest.size() < 2 || (rest[0] != 'e' && rest[0] != 'E')) return;
  const bool sign = rest[1] == '+' || rest[1] == '-';
  const std::string_view digits = rest.substr(sign ? 2 : 1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error != std::errc{} || exponent < 0 || exponent > 400) return;
  decimal.exponent += rest[1] == '-' ? -exponent : exponent;
  rest = digits.substr(static_cast<std::size_t>(end - digits.data()));
}

// Takes the number off the front of `text`; what remains is the unit. An empty error: there is no
// number at all.
Parsed<Decimal> take_number(std::string_view& text) {
  Decimal decimal;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    decimal.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  bool any = false;
  bool fits = take_digits(text, decimal, false, any);
  if (fits && !text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fits = take_digits(text, decimal, true, any);
  }
  if (!fits) return {{}, "has too many digits"};
  if (!any) return {{}, ""};
  take_exponent(text, decimal);
  while (decimal.mantissa != 0 && decimal.mantissa % 10 == 0) {
    decimal.mantissa /= 10;
    ++decimal.exponent;
  }
  return {decimal, {}};
}

enum class Scaling : std::uint8_t { kExact, kNotWhole, kTooLarge };

// decimal x scale as an integer.
Scaling scale_exactly(const Decimal& decimal, std::int64_t scale, std::int64_t& result) {
  std::int64_t mantissa = decimal.mantissa;
  result = 0;
  if (mantissa == 0) return Scaling::kExact;
  int exponent = decimal.exponent;
  for (; exponent < 0; ++exponent) {
    // One factor of ten out of mantissa x scale, taken from wherever its 2 and its 5 are.
    for (const std::int64_t prime : {2, 5}) {
      if (mantissa % prime == 0) {
        mantissa /= prime;
      } else if (scale % prime == 0) {
        scale /= prime;
      } else {
        return Scaling::kNotWhole;
      }
    }
  }
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(mantissa, std::int64_t{10}, &mantissa)) return Scaling::kTooLarge;
  }
  if (__builtin_mul_overflow(mantissa, scale, &result)) return Scaling::kTooLarge;
  if (decimal.negative) result = -result;
  return Scaling::kExact;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

const Unit* find_unit(Dimension dimension, std::string_view name) {
  for (const Unit& unit : units_of(dimension)) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// Bits as a size: "8Gb". They have a name of their own because the mistake is so common.
bool is_bit_size(std::string_view unit) {
  return unit.size() <= 3 && unit.ends_with('b') &&
         find_unit(Dimension::kSize, std::string(unit.substr(0, unit.size() - 1)) + "B") != nullptr;
}

std::string wrong_unit(std::string_view unit, std::string_view number, Dimension meant) {
  if (unit.empty()) {
    return fmt::format("has no unit; {} takes {}", describe(meant), unit_list(meant));
  }
  if (meant == Dimension::kSize && is_bit_size(unit)) {
    return fmt::format("is in bits, and a size is in bytes: {}{}B? B is bytes, b is bits", number,
                       unit.substr(0, unit.size() - 1));
  }
  if (meant == Dimension::kRate &&
      (find_unit(Dimension::kSize, unit) != nullptr || is_bit_size(unit))) {
    return fmt::format("is a size, and a rate is meant: {}{}/s?", number, unit);
  }
  for (const Dimension other :
       {Dimension::kSize, Dimension::kRate, Dimension::kTime, Dimension::kLength}) {
    if (find_unit(other, unit) != nullptr) {
      return fmt::format("is {}, and {} is meant, which takes {}", describe(other), describe(meant),
                         unit_list(meant));
    }
  }
  std::vector<std::string> names;
  for (const Unit& known : units_of(meant)) names.emplace_back(known.name);
  return fmt::format("has the unknown unit \"{}\"{}; {} takes {}", unit, did_you_mean(unit, names),
                     describe(meant), unit_list(meant));
}

std::string not_a(std::string_view what, const std::string& why) {
  return why.empty() ? fmt::format("is not {}", what) : fmt::format("is not {}: it {}", what, why);
}

}  // namespace

std::string_view describe(Dimension dimension) {
  switch (dimension) {
    case Dimension::kSize:
      return "a size";
    case Dimension::kRate:
      return "a rate";
    case Dimension::kTime:
      return "a time";
    case Dimension::kLength:
      return "a length";
  }
  return "";
}

Parsed<std::int64_t> parse_quantity(std::string_view text, Dimension dimension) {
  std::string_view rest = trimmed(text);
  const std::string_view whole = rest;
  const Parsed<Decimal> number = take_number(rest);
  if (!number.value) {
    return {{},
            fmt::format("{}; {} takes {}", not_a(describe(dimension), number.error),
                        describe(dimension), unit_list(dimension))};
  }
  const std::string_view digits = whole.substr(0, whole.size() - rest.size());
  const std::string_view name = trimmed(rest);
  const Unit* unit = find_unit(dimension, name);
  if (unit == nullptr) return {{}, wrong_unit(name, digits, dimension)};
  std::int64_t result = 0;
  switch (scale_exactly(*number.value, unit->scale, result)) {
    case Scaling::kExact:
      return {result, {}};
    case Scaling::kNotWhole:
      return {{}, fmt::format("is not a whole number of {}", whole_unit(dimension))};
    case Scaling::kTooLarge:
      break;
  }
  return {{}, "is too large"};
}

Parsed<std::int64_t> parse_count(std::string_view text) {
  std::string_view rest = trimmed(text);
  const Parsed<Decimal> number = take_number(rest);
  if (!number.value) return {{}, not_a("a whole number", number.error)};
  if (!trimmed(rest).empty()) {
    return {{},
            fmt::format("is not a bare number: a count takes no unit, and \"{}\" follows it",
                        trimmed(rest))};
  }
  std::int64_t result = 0;
  switch (scale_exactly(*number.value, 1, result)) {
    case Scaling::kExact:
      return {result, {}};
    case Scaling::kNotWhole:
      return {{}, "is not a whole number"};
    case Scaling::kTooLarge:
      break;
  }
  return {{}, "is too large"};
}

Parsed<double> parse_real(std::string_view text) {
  std::string_view rest = trimmed(text);
  const std::string_view whole = rest;
  const Parsed<Decimal> number = take_number(rest);
  if (!number.value) return {{}, not_a("a number", number.error)};
  if (!trimmed(rest).empty()) {
    return {{}, fmt::format("is not a bare number: \"{}\" follows it", trimmed(rest))};
  }
  std::string_view digits = whole;
  if (digits.front() == '+') digits.remove_prefix(1);  // from_chars takes none
  double result = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
  if (error != std::errc{} || !std::isfinite(result)) return {{}, "is out of any number's range"};
  return {result, {}};
}

std::string format_quantity(std::int64_t value, Dimension dimension) {
  std::string best;
  const auto offer = [&best](const std::string& text) {
    if (best.empty() || text.size() < best.size()) best = text;
  };
  for (const Unit& unit : units_of(dimension)) {
    // Bytes read back as bytes, rates as the bits a link is named by.
    if (unit.name == "µs" ||
        (dimension == Dimension::kRate && unit.name.find('B') != unit.name.npos)) {
      continue;
    }
    if (value % unit.scale == 0) offer(fmt::format("{}{}", value / unit.scale, unit.name));
    const std::int64_t tenth = unit.scale / 10;
    // One to three decimals, where that is exact; binary units stay whole.
    for (std::int64_t part = tenth, digits = 1; digits <= 3 && part > 0; part /= 10, ++digits) {
      if (unit.scale % 10 != 0 || value % part != 0 || std::abs(value) < unit.scale) break;
      const std::int64_t magnitude = std::abs(value);
      const std::int64_t fraction = magnitude % unit.scale / part;
      if (fraction == 0) break;
      offer(fmt::format("{}{}.{:0{}}{}", value < 0 ? "-" : "", magnitude / unit.scale, fraction,
                        digits, unit.name));
    }
  }
  return best;
}

std::string format_bytes(Bytes bytes) { return format_quantity(bytes.count, Dimension::kSize); }

std::string format_duration(Duration duration) {
  return format_quantity(duration.ps, Dimension::kTime);
}

std::string format_rate(BitRate rate) {
  if (rate.unlimited()) return "unlimited";
  return format_quantity(rate.bits_per_second, Dimension::kRate);
}

}  // namespace gradhaul
