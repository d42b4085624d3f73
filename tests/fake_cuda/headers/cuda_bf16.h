#pragma once

// Of CUDA's cuda_bf16.h what backends/cuda/reduce_kernels.cu takes, for a compiler of the host.

#include <cstdint>

#include "backends/cpu/half_floats.h"

struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline std::uint16_t __bfloat16_as_ushort(__nv_bfloat16 half) { return half.bits; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return {gradhaul::bf16_from_float(value)}; }
