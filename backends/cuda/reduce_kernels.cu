// target[i] = left[i] op right[i] on a GPU, to the bit what backends/cpu/element_kernels.h says:
// halves are widened to fp32, operated on there and rounded once; of maxima and minima a NaN loses
// and +0 is greater than -0; a NaN that results is 0x7fffffff or 0x7fff, which is what every
// conversion and operation of a GPU gives [PTX ISA: add, div, max, min, cvt]. Compiled without
// fused multiply-adds and without flushing subnormals.
//
// What limits is memory: sixteen bytes a load wherever operands allow it, some loads of a thread on
// their way before the first is used, and a grid that strides over what is left.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "backends/cuda/reduce_operands.h"

namespace {

using gradhaul::GpuReduceOperands;

constexpr int kVector = 16;  // bytes
// Vectors of a thread that are loaded before the first is used: narrow loads are many already.
template <int kWidth>
constexpr int kInFlight = kWidth == kVector ? 4 : (kWidth > 1 ? 2 : 1);

enum class Operation { kSum, kSumThenDivide, kMax, kMin };

template <Operation kOperation>
__device__ float float_of(float left, float right, int divisor) {
  if constexpr (kOperation == Operation::kMax) return fmaxf(left, right);
  if constexpr (kOperation == Operation::kMin) return fminf(left, right);
  const float sum = __fadd_rn(left, right);
  if constexpr (kOperation == Operation::kSum) return sum;
  return __fdiv_rn(sum, static_cast<float>(divisor));
}

struct Fp32 {
  using Bits = std::uint32_t;
  template <Operation kOperation>
  static __device__ Bits reduced(Bits left, Bits right, int divisor) {
    return __float_as_uint(
        float_of<kOperation>(__uint_as_float(left), __uint_as_float(right), divisor));
  }
};

struct Fp16 {
  using Bits = std::uint16_t;
  template <Operation kOperation>
  static __device__ Bits reduced(Bits left, Bits right, int divisor) {
    const float result = float_of<kOperation>(__half2float(__ushort_as_half(left)),
                                              __half2float(__ushort_as_half(right)), divisor);
    return __half_as_ushort(__float2half_rn(result));
  }
};

struct Bf16 {
  using Bits = std::uint16_t;
  static __device__ float widened(Bits half) {
    return __uint_as_float(static_cast<std::uint32_t>(half) << 16);
  }
  template <Operation kOperation>
  static __device__ Bits reduced(Bits left, Bits right, int divisor) {
    const float result = float_of<kOperation>(widened(left), widened(right), divisor);
    return __bfloat16_as_ushort(__float2bfloat16_rn(result));
  }
};

template <typename Integer, typename Unsigned>
struct Integers {
  using Bits = Unsigned;
  template <Operation kOperation>
  static __device__ Bits reduced(Bits left, Bits right, int divisor) {
    const auto l = static_cast<Integer>(left);
    const auto r = static_cast<Integer>(right);
    if constexpr (kOperation == Operation::kMax) return l > r ? left : right;
    if constexpr (kOperation == Operation::kMin) return l < r ? left : right;
    const auto sum = static_cast<Bits>(left + right);  // wraps
    if constexpr (kOperation == Operation::kSum) return sum;
    return static_cast<Bits>(static_cast<Integer>(sum) / divisor);
  }
};
using Int32 = Integers<std::int32_t, std::uint32_t>;
using Int8 = Integers<std::int8_t, std::uint8_t>;
using Uint8 = Integers<std::uint8_t, std::uint8_t>;

// A vector of sixteen bytes as four words, from where only `kWidth` of them lie together.
struct Words {
  std::uint32_t word[4];
};

template <int kWidth>
__device__ Words loaded(const unsigned char* at) {
  Words words;
  if constexpr (kWidth == 16) {
    const uint4 all = *reinterpret_cast<const uint4*>(at);
    words = {{all.x, all.y, all.z, all.w}};
  } else if constexpr (kWidth == 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) words.word[i] = reinterpret_cast<const std::uint32_t*>(at)[i];
  } else if constexpr (kWidth == 2) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto* halves = reinterpret_cast<const std::uint16_t*>(at) + 2 * i;
      words.word[i] = halves[0] | static_cast<std::uint32_t>(halves[1]) << 16;
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const unsigned char* bytes = at + 4 * i;
      words.word[i] = bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8 |
                      static_cast<std::uint32_t>(bytes[2]) << 16 |
                      static_cast<std::uint32_t>(bytes[3]) << 24;
    }
  }
  return words;
}

// The elements of a word, each by itself.
template <typename Format, Operation kOperation>
__device__ std::uint32_t reduced_word(std::uint32_t left, std::uint32_t right, int divisor) {
  using Bits = typename Format::Bits;
  constexpr int kBits = 8 * sizeof(Bits);
  std::uint32_t word = 0;
#pragma unroll
  for (int shift = 0; shift < 32; shift += kBits) {
    const Bits element = Format::template reduced<kOperation>(
        static_cast<Bits>(left >> shift), static_cast<Bits>(right >> shift), divisor);
    word |= static_cast<std::uint32_t>(element) << shift;
  }
  return word;
}

// `target` is at a multiple of 16, and may be `left` or `right`: nobody else writes what a thread
// has loaded.
template <typename Format, Operation kOperation, int kWidth>
__device__ void reduce_vectors(unsigned char* target, const unsigned char* left,
                               const unsigned char* right, std::int64_t vectors, int divisor) {
  constexpr int kVectors = kInFlight<kWidth>;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; first < vectors; first += stride * kVectors) {
    Words lefts[kVectors];
    Words rights[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const std::int64_t at = first + i * stride;
      if (at >= vectors) break;
      lefts[i] = loaded<kWidth>(left + at * kVector);
      rights[i] = loaded<kWidth>(right + at * kVector);
    }
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const std::int64_t at = first + i * stride;
      if (at >= vectors) break;
      std::uint32_t word[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        word[j] = reduced_word<Format, kOperation>(lefts[i].word[j], rights[i].word[j], divisor);
      }
      *reinterpret_cast<uint4*>(target + at * kVector) =
          make_uint4(word[0], word[1], word[2], word[3]);
    }
  }
}

// Of elements that lie anywhere.
template <typename Bits>
__device__ Bits element_at(const unsigned char* at) {
  Bits bits = 0;
#pragma unroll
  for (unsigned i = 0; i < sizeof(Bits); ++i) {
    bits = static_cast<Bits>(bits | static_cast<Bits>(at[i]) << (8 * i));
  }
  return bits;
}

template <typename Format, Operation kOperation>
__device__ void reduce(const GpuReduceOperands& operands) {
  using Bits = typename Format::Bits;
  constexpr std::int64_t kElement = sizeof(Bits);
  auto* target = reinterpret_cast<unsigned char*>(operands.target);
  const auto* left = reinterpret_cast<const unsigned char*>(operands.left);
  const auto* right = reinterpret_cast<const unsigned char*>(operands.right);
  const int divisor = operands.divisor;
  // Up to where the target is at a multiple of 16; and what is left after the last whole vector.
  const auto to_boundary = static_cast<std::int64_t>(-operands.target & (kVector - 1)) / kElement;
  const std::int64_t head = to_boundary < operands.count ? to_boundary : operands.count;
  const std::int64_t vectors = (operands.count - head) * kElement / kVector;
  const std::int64_t tail = head + vectors * (kVector / kElement);
  const std::int64_t alone = head + operands.count - tail;  // elements that are no vector's
  if (blockIdx.x == 0 && threadIdx.x < alone) {
    const std::int64_t i = threadIdx.x < head ? threadIdx.x : tail + threadIdx.x - head;
    *reinterpret_cast<Bits*>(target + i * kElement) = Format::template reduced<kOperation>(
        element_at<Bits>(left + i * kElement), element_at<Bits>(right + i * kElement), divisor);
  }
  const std::int64_t skipped = head * kElement;
  target += skipped;
  left += skipped;
  right += skipped;
  if (operands.width == 16) {
    reduce_vectors<Format, kOperation, 16>(target, left, right, vectors, divisor);
  } else if (operands.width >= 4) {
    reduce_vectors<Format, kOperation, 4>(target, left, right, vectors, divisor);
  } else if (kElement <= 2 && operands.width >= 2) {
    reduce_vectors<Format, kOperation, 2>(target, left, right, vectors, divisor);
  } else {
    reduce_vectors<Format, kOperation, 1>(target, left, right, vectors, divisor);
  }
}

}  // namespace

#define GRADHAUL_KERNEL(type, Format, operation, kOperation)             \
  extern "C" __global__ void __launch_bounds__(gradhaul::kReduceThreads) \
      gradhaul_reduce_##type##_##operation(const GpuReduceOperands o) {  \
    reduce<Format, Operation::kOperation>(o);                            \
  }
#define GRADHAUL_KERNELS(type, Format)                           \
  GRADHAUL_KERNEL(type, Format, sum, kSum)                       \
  GRADHAUL_KERNEL(type, Format, sum_then_divide, kSumThenDivide) \
  GRADHAUL_KERNEL(type, Format, max, kMax)                       \
  GRADHAUL_KERNEL(type, Format, min, kMin)

GRADHAUL_KERNELS(fp32, Fp32)
GRADHAUL_KERNELS(fp16, Fp16)
GRADHAUL_KERNELS(bf16, Bf16)
GRADHAUL_KERNELS(int32, Int32)
GRADHAUL_KERNELS(int8, Int8)
GRADHAUL_KERNELS(uint8, Uint8)
