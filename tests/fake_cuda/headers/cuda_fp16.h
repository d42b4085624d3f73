#pragma once

// Of CUDA's cuda_fp16.h what backends/cuda/reduce_kernels.cu takes, for a compiler of the host.

#include <cstdint>

#include "backends/cpu/half_floats.h"

struct __half {
  std::uint16_t bits;
};

inline __half __ushort_as_half(std::uint16_t bits) { return {bits}; }
inline std::uint16_t __half_as_ushort(__half half) { return half.bits; }
inline float __half2float(__half half) { return gradhaul::float_from_fp16(half.bits); }
inline __half __float2half_rn(float value) { return {gradhaul::fp16_from_float(value)}; }
