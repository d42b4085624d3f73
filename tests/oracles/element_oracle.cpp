#include "tests/oracles/element_oracle.h"

#include <cmath>
#include <limits>

#include "core/assert.h"

namespace gradhaul::oracle {
namespace {

std::uint32_t all_ones(int bits) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

int exponent_bits(const FloatFormat& format) { return format.storage_bits - format.precision; }

std::uint32_t reduced_integers(const ElementReduction& how, std::uint32_t left,
                               std::uint32_t right) {
  const std::int64_t a = integer_of(how.type, left);
  const std::int64_t b = integer_of(how.type, right);
  if (how.reduction == Reduction::kMax) return integer_element(how.type, a > b ? a : b);
  if (how.reduction == Reduction::kMin) return integer_element(how.type, a < b ? a : b);
  return integer_element(how.type, wrapped(how.type, a + b) / how.divisor);
}

double extreme(Reduction reduction, double a, double b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  const bool a_below = a < b || (a == b && std::signbit(a));
  return (reduction == Reduction::kMax) == a_below ? b : a;
}

}  // namespace

std::int64_t wrapped(DataType type, std::int64_t value) {
  const std::int64_t modulus = std::int64_t{1} << (8 * size_of(type).count);
  const std::int64_t least = type == DataType::kUint8 ? 0 : -modulus / 2;
  while (value < least) value += modulus;
  while (value >= least + modulus) value -= modulus;
  return value;
}

std::int64_t integer_of(DataType type, std::uint32_t element) {
  return wrapped(type, std::int64_t{element});
}

std::uint32_t integer_element(DataType type, std::int64_t value) {
  return static_cast<std::uint32_t>(value) & all_ones(static_cast<int>(8 * size_of(type).count));
}

FloatFormat format_of(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return {.precision = 24, .least_exponent = -126, .storage_bits = 32};
    case DataType::kFp16:
      return {.precision = 11, .least_exponent = -14, .storage_bits = 16};
    case DataType::kBf16:
      return {.precision = 8, .least_exponent = -126, .storage_bits = 16};
    case DataType::kInt32:
    case DataType::kInt8:
    case DataType::kUint8:
      break;
  }
  assertion_failed("a floating-point type", __FILE__, __LINE__, "integers have no float format");
}

double value_of(DataType type, std::uint32_t element) {
  if (is_integer(type)) return static_cast<double>(integer_of(type, element));
  const FloatFormat format = format_of(type);
  const int fraction_bits = format.precision - 1;
  const std::uint32_t fraction = element & all_ones(fraction_bits);
  const std::uint32_t exponent = (element >> fraction_bits) & all_ones(exponent_bits(format));
  const double sign = (element >> (format.storage_bits - 1)) != 0 ? -1.0 : 1.0;
  if (exponent == all_ones(exponent_bits(format))) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const int hidden = exponent != 0 ? 1 : 0;
  const double significand = fraction + std::ldexp(hidden, fraction_bits);
  const int shift = static_cast<int>(exponent) - hidden + format.least_exponent - fraction_bits;
  return sign * std::ldexp(significand, shift);
}

std::uint32_t element_of(DataType type, double value) {
  const FloatFormat format = format_of(type);
  const int fraction_bits = format.precision - 1;
  if (std::isnan(value)) return all_ones(format.storage_bits - 1);
  const std::uint32_t sign = std::signbit(value) ? 1U << (format.storage_bits - 1) : 0U;
  const std::uint32_t infinity = all_ones(exponent_bits(format)) << fraction_bits;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  // In units of the last place at this magnitude; nearbyint rounds to even in the default mode.
  const int exponent = std::max(std::ilogb(magnitude), format.least_exponent);
  const auto units =
      static_cast<std::uint32_t>(std::nearbyint(std::ldexp(magnitude, fraction_bits - exponent)));
  // The biased exponent less one, plus the units with their hidden bit: carries and subnormals come
  // out of the sum.
  const std::int64_t bits =
      (static_cast<std::int64_t>(exponent - format.least_exponent) << fraction_bits) + units;
  return sign | (bits > infinity ? infinity : static_cast<std::uint32_t>(bits));
}

std::uint32_t reduced(const ElementReduction& how, std::uint32_t left, std::uint32_t right) {
  if (is_integer(how.type)) return reduced_integers(how, left, right);
  const double a = value_of(how.type, left);
  const double b = value_of(how.type, right);
  if (how.reduction == Reduction::kMax || how.reduction == Reduction::kMin) {
    return element_of(how.type, extreme(how.reduction, a, b));
  }
  const auto in_fp32 = [](double value) {
    return value_of(DataType::kFp32, element_of(DataType::kFp32, value));
  };
  double result = in_fp32(a + b);
  if (how.divisor > 1) result = in_fp32(result / in_fp32(how.divisor));
  return element_of(how.type, result);
}

}  // namespace gradhaul::oracle
