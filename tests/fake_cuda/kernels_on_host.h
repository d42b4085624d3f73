#pragma once

// What stands for CUDA's language where the reduce kernels are compiled for the host, from the very
// source that nvcc compiles. Its keywords are taken out, and fmaxf and fminf renamed, by the
// command line (tests/CMakeLists.txt).

#include <bit>
#include <cstdint>

#include "backends/cuda/reduce_operands.h"

namespace gradhaul::fake {

struct Extent {
  unsigned x = 1;
};

inline bool is_nan(float value) { return value != value; }
inline bool is_negative(float value) { return std::bit_cast<std::uint32_t>(value) >> 31 != 0; }
inline float canonical(float value) {
  return is_nan(value) ? std::bit_cast<float>(0x7fffffffU) : value;
}
// PTX max.f32 and min.f32: a NaN loses, be it quiet or not, and +0 is greater than -0.
inline float greater(float left, float right) {
  if (is_nan(left)) return canonical(right);
  if (is_nan(right)) return left;
  if (left == right) return is_negative(left) ? right : left;
  return left > right ? left : right;
}
inline float smaller(float left, float right) {
  if (is_nan(left)) return canonical(right);
  if (is_nan(right)) return left;
  if (left == right) return is_negative(left) ? left : right;
  return left < right ? left : right;
}

}  // namespace gradhaul::fake

// As in CUDA, whose names they are.
inline thread_local gradhaul::fake::Extent blockIdx;
inline thread_local gradhaul::fake::Extent threadIdx;
inline thread_local gradhaul::fake::Extent blockDim;
inline thread_local gradhaul::fake::Extent gridDim;

struct alignas(16) uint4 {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;
  std::uint32_t w;
};
inline uint4 make_uint4(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t w) {
  return {x, y, z, w};
}
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline float __fadd_rn(float left, float right) { return gradhaul::fake::canonical(left + right); }
inline float __fdiv_rn(float left, float right) { return gradhaul::fake::canonical(left / right); }
