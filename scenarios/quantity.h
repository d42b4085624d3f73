#pragma once

// Quantities as a user writes them: a number and its unit, "400Gb/s", "50GB/s", "4KiB", "1.5us",
// "10m". B is bytes and b is bits; k M G T are powers of 1000 and Ki Mi Gi Ti powers of 1024; a
// space before the unit is allowed. All arithmetic is in integers: what does not come out as a
// whole number of the base unit is an error, never rounded.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/quantities.h"

namespace gradhaul {

enum class Dimension : std::uint8_t {
  kSize,    // base unit: byte
  kRate,    // bit per second
  kTime,    // picosecond
  kLength,  // millimetre
};

// Either a value or what is wrong with the text, as a clause that stands after the text itself:
// `"512" has no unit; …`.
template <typename T>
struct Parsed {
  std::optional<T> value;
  std::string error;
};

// In base units of the dimension; may be negative.
Parsed<std::int64_t> parse_quantity(std::string_view text, Dimension dimension);

// A bare whole number: "8", "7e9", "1.5e3". A unit is an error.
Parsed<std::int64_t> parse_count(std::string_view text);

// A bare number: "0.03", "1e-10".
Parsed<double> parse_real(std::string_view text);

// "a size", "a rate", "a time", "a length".
std::string_view describe(Dimension dimension);

// The shortest of the texts that parse back to the same value.
std::string format_bytes(Bytes bytes);
std::string format_duration(Duration duration);
// In bits ("400Gb/s").
std::string format_rate(BitRate rate);
// In base units of the dimension.
std::string format_quantity(std::int64_t value, Dimension dimension);

}  // namespace gradhaul
