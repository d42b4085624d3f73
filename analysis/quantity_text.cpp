#include "analysis/quantity_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>

namespace gradhaul {
namespace {

struct Unit {
  double size;  // in picoseconds, or bytes
  const char* name;
};

constexpr std::array<Unit, 5> kTimeUnits{
    {{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}, {1, "ps"}}};
constexpr std::array<Unit, 5> kByteUnits{
    {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};

// The greatest unit that leaves at least one before the point, after rounding to three digits.
const Unit& unit_of(double value, const std::array<Unit, 5>& units) {
  for (const Unit& unit : units) {
    if (value >= 0.9995 * unit.size) return unit;
  }
  return units.back();
}

// Three significant digits, without an exponent.
std::string digits(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

// "14.0" -> "14": for round numbers that somebody chose.
std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string duration_text(Duration duration) {
  const auto picoseconds = static_cast<double>(duration.ps);
  if (picoseconds == 0) return "0 us";
  if (picoseconds < 1e3) return fmt::format("{} ps", duration.ps);
  const Unit& unit = unit_of(picoseconds, kTimeUnits);
  return fmt::format("{} {}", digits(picoseconds / unit.size), unit.name);
}

std::string duration_of_text(Duration part, Duration whole) {
  const Unit& unit = unit_of(static_cast<double>(whole.ps), kTimeUnits);
  return fmt::format("{} of {} {}", digits(static_cast<double>(part.ps) / unit.size),
                     digits(static_cast<double>(whole.ps) / unit.size), unit.name);
}

std::string bytes_text(Bytes bytes) {
  const auto count = static_cast<double>(bytes.count);
  const Unit& unit = unit_of(count, kByteUnits);
  return fmt::format("{} {}", without_zeros(digits(count / unit.size)), unit.name);
}

std::string rate_text(double bytes_per_second) {
  const Unit& unit = unit_of(bytes_per_second, kByteUnits);
  return fmt::format("{} {}/s", digits(bytes_per_second / unit.size), unit.name);
}

std::string percent_text(double share) {
  const double percent = share * 100;
  if (percent >= 9.95 || percent == 0) return fmt::format("{:.0f} %", percent);
  return fmt::format("{:.1f} %", percent);
}

std::string count_text(std::int64_t number) {
  const auto value = static_cast<double>(number);
  if (number < 1'000'000) return fmt::format("{}", number);
  if (number < 1'000'000'000) return fmt::format("{} million", digits(value / 1e6));
  return fmt::format("{} billion", digits(value / 1e9));
}

double microseconds(Duration duration) {
  // Divided, not multiplied by 1e-6: the quotient is the double nearest to the decimal number.
  return static_cast<double>(duration.ps) / 1e6;
}

}  // namespace gradhaul
