#pragma once

// fp16 (IEEE 754-2019 binary16) and bf16 (the upper half of a binary32) to and from fp32, without
// branches, so that loops over them vectorise. To fp32 is exact. To a half rounds to nearest, ties
// to even, with subnormals and overflow to infinity; every NaN becomes 0x7fff, which CUDA calls
// canonical (CUDART_NAN_FP16). Assumes the default floating-point environment: round to nearest,
// subnormals not flushed.
//
// Always inlined: the loops are compiled for several instruction sets, and no copy for the greatest
// may end up where the others link to it.

#include <cstdint>

namespace gradhaul {

#define GRADHAUL_INLINE [[gnu::always_inline]] inline constexpr

GRADHAUL_INLINE std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
GRADHAUL_INLINE float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

GRADHAUL_INLINE float float_from_bf16(std::uint16_t half) {
  return float_of(static_cast<std::uint32_t>(half) << 16);
}

GRADHAUL_INLINE std::uint16_t bf16_from_float(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>(nan ? 0x7fffU : rounded);
}

GRADHAUL_INLINE float float_from_fp16(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  // Exponent and mantissa moved into place are 2^112 too small, subnormals included: both biases
  // (15 and 127) multiply out exactly.
  const std::uint32_t scaled = bits_of(float_of(magnitude << 13) * 0x1p112f);
  const std::uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
  return float_of(sign | scaled | special);
}

GRADHAUL_INLINE std::uint16_t fp16_from_float(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // What is 2^16 or more rounds as 2^16 does: to the pattern of infinity.
  const std::uint32_t clamped = magnitude < 0x47800000U ? magnitude : 0x47800000U;
  // Adding 2^13 times the leading power of two, or of the least normal number, leaves in the low
  // bits the number in units of fp16's last place, rounded. A number below 2^-14 is a subnormal
  // there, whose units are its pattern; above, each exponent more is worth 2^10 patterns.
  const std::uint32_t exponent = clamped & 0x7f800000U;
  const std::uint32_t leading = exponent > 0x38800000U ? exponent : 0x38800000U;
  const std::uint32_t magic = leading + (13U << 23);
  const std::uint32_t units = bits_of(float_of(clamped) + float_of(magic)) - magic;
  const std::uint32_t finite = units + ((leading - 0x38800000U) >> 13);
  // By mask: a choice has g++ work out the above behind a branch, and nothing is vectorised.
  const std::uint32_t nan = magnitude > 0x7f800000U ? 0x7fffU : 0U;
  const std::uint32_t sign = (bits >> 16) & 0x8000U & ~(nan << 1);
  return static_cast<std::uint16_t>(sign | finite | nan);
}

#undef GRADHAUL_INLINE

}  // namespace gradhaul
