// The loops behind element_kernels.h. Included by one source file for each instruction set, inside
// its own target pragma and after all other includes: what is defined here has internal linkage,
// and nothing of the standard library is called, so that no code for one instruction set can be
// linked into another's. Written to be vectorised by g++ -O3; GRADHAUL_INDEPENDENT says that an
// operand which is exactly the target is no obstacle.
//
// The files with a target pragma have included the following before it, and define GRADHAUL_F16C
// where the target has it: g++ 12 reads the whole file before it heeds the pragma, so that __F16C__
// is never seen.

#include "backends/cpu/element_kernels.h"
#include "backends/cpu/half_floats.h"

#if defined(__clang__)
#define GRADHAUL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define GRADHAUL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace gradhaul {
namespace {

template <typename T>
struct Unaligned {
  typedef T Type __attribute__((aligned(1), may_alias));
};

constexpr std::uint32_t kCanonicalNan = 0x7fffffffU;  // every bit but the sign

struct Fp32 {
  using Element = float;
  using Bits = std::uint32_t;
  using SignedBits = std::int32_t;
  static constexpr Bits kInfinity = 0x7f800000U;
  [[gnu::always_inline]] static float widened(float value) { return value; }
  [[gnu::always_inline]] static float narrowed(float value) {
    const std::uint32_t bits = bits_of(value);
    return float_of((bits & 0x7fffffffU) > kInfinity ? kCanonicalNan : bits);
  }
};

struct Fp16 {
  using Element = std::uint16_t;
  using Bits = std::uint16_t;
  using SignedBits = std::int16_t;
  static constexpr Bits kInfinity = 0x7c00U;
  [[gnu::always_inline]] static float widened(Element half) { return float_from_fp16(half); }
  [[gnu::always_inline]] static Element narrowed(float value) { return fp16_from_float(value); }
};

struct Bf16 {
  using Element = std::uint16_t;
  using Bits = std::uint16_t;
  using SignedBits = std::int16_t;
  static constexpr Bits kInfinity = 0x7f80U;
  [[gnu::always_inline]] static float widened(Element half) { return float_from_bf16(half); }
  [[gnu::always_inline]] static Element narrowed(float value) { return bf16_from_float(value); }
};

template <bool kDivide>
[[gnu::always_inline]] inline float sum_of(float left, float right, float divisor) {
  const float sum = left + right;
  return kDivide ? sum / divisor : sum;
}

template <typename Format, bool kDivide>
void sum_floats(const ElementOperands& operands) {
  using Memory = typename Unaligned<typename Format::Element>::Type;
  auto* target = reinterpret_cast<Memory*>(operands.target);
  const auto* left = reinterpret_cast<const Memory*>(operands.left);
  const auto* right = reinterpret_cast<const Memory*>(operands.right);
  const std::int64_t count = operands.count;
  const auto divisor = static_cast<float>(operands.divisor);
  GRADHAUL_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = Format::narrowed(
        sum_of<kDivide>(Format::widened(left[i]), Format::widened(right[i]), divisor));
  }
}

// Of two values other than NaN the greater, or the smaller, by the integers that order them.
template <typename Format, bool kMaximum>
[[gnu::always_inline]] inline typename Format::Bits extreme_of(typename Format::Bits left,
                                                               typename Format::Bits right) {
  using Bits = typename Format::Bits;
  using SignedBits = typename Format::SignedBits;
  constexpr int kSignShift = static_cast<int>(sizeof(Bits)) * 8 - 1;
  constexpr Bits kMagnitude = static_cast<Bits>(kCanonicalNan >> (31 - kSignShift));
  const auto left_signed = static_cast<SignedBits>(left);
  const auto right_signed = static_cast<SignedBits>(right);
  const auto left_key =
      static_cast<SignedBits>(left_signed ^ ((left_signed >> kSignShift) & kMagnitude));
  const auto right_key =
      static_cast<SignedBits>(right_signed ^ ((right_signed >> kSignShift) & kMagnitude));
  const bool take_left = kMaximum ? left_key >= right_key : left_key <= right_key;
  Bits chosen = take_left ? left : right;
  chosen = static_cast<Bits>(left & kMagnitude) > Format::kInfinity ? right : chosen;
  chosen = static_cast<Bits>(right & kMagnitude) > Format::kInfinity ? left : chosen;
  return static_cast<Bits>(chosen & kMagnitude) > Format::kInfinity ? kMagnitude : chosen;
}

template <typename Format, bool kMaximum>
void extreme_floats(const ElementOperands& operands) {
  using Memory = typename Unaligned<typename Format::Bits>::Type;
  auto* target = reinterpret_cast<Memory*>(operands.target);
  const auto* left = reinterpret_cast<const Memory*>(operands.left);
  const auto* right = reinterpret_cast<const Memory*>(operands.right);
  const std::int64_t count = operands.count;
  GRADHAUL_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = extreme_of<Format, kMaximum>(left[i], right[i]);
  }
}

// There is no vector division of integers. In a floating-point type it is exact: a quotient that is
// no integer is at least 1/divisor away from one, and of int32 in double its rounding error is
// below 2^31 / divisor / 2^53. Bytes are divided in fp32: below 2^8 / divisor / 2^24, and divisors
// that fp32 has not are greater than any byte.
struct Int32 {
  using Element = std::int32_t;
  using Bits = std::uint32_t;
  using Quotient = double;
};

struct Int8 {
  using Element = std::int8_t;
  using Bits = std::uint8_t;
  using Quotient = float;
};

struct Uint8 {
  using Element = std::uint8_t;
  using Bits = std::uint8_t;
  using Quotient = float;
};

template <typename Format, ElementOperation kOperation>
[[gnu::always_inline]] inline typename Format::Element integer_of(
    typename Format::Element left, typename Format::Element right,
    typename Format::Quotient divisor) {
  using Bits = typename Format::Bits;
  using Element = typename Format::Element;
  if constexpr (kOperation == ElementOperation::kMax) return left > right ? left : right;
  if constexpr (kOperation == ElementOperation::kMin) return left < right ? left : right;
  const auto sum =
      static_cast<Element>(static_cast<Bits>(static_cast<Bits>(left) + static_cast<Bits>(right)));
  if constexpr (kOperation == ElementOperation::kSum) return sum;
  return static_cast<Element>(static_cast<typename Format::Quotient>(sum) / divisor);
}

template <typename Format, ElementOperation kOperation>
void reduce_integers(const ElementOperands& operands) {
  using Memory = typename Unaligned<typename Format::Element>::Type;
  auto* target = reinterpret_cast<Memory*>(operands.target);
  const auto* left = reinterpret_cast<const Memory*>(operands.left);
  const auto* right = reinterpret_cast<const Memory*>(operands.right);
  const std::int64_t count = operands.count;
  const auto divisor = static_cast<typename Format::Quotient>(operands.divisor);
  GRADHAUL_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) {
    target[i] = integer_of<Format, kOperation>(left[i], right[i], divisor);
  }
}

#if defined(GRADHAUL_F16C)
// The conversion instructions, which the vectoriser does not know. The tail goes the scalar way,
// with the same result.
template <bool kDivide>
void sum_fp16_with_f16c(const ElementOperands& operands) {
  constexpr std::int64_t kLanes = 8;
  const std::int64_t whole = operands.count / kLanes * kLanes;
  const auto divisor = static_cast<float>(operands.divisor);
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    const std::int64_t at = i * 2;
    const __m256 left =
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(operands.left + at)));
    const __m256 right =
        _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(operands.right + at)));
    __m256 sum = _mm256_add_ps(left, right);
    if constexpr (kDivide) sum = _mm256_div_ps(sum, _mm256_set1_ps(divisor));
    const __m256 nan = _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q);
    sum = _mm256_blendv_ps(sum, _mm256_set1_ps(float_of(kCanonicalNan)), nan);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(operands.target + at),
                     _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  ElementOperands tail = operands;
  tail.target += whole * 2;
  tail.left += whole * 2;
  tail.right += whole * 2;
  tail.count -= whole;
  sum_floats<Fp16, kDivide>(tail);
}
#else
template <bool kDivide>
void sum_fp16_with_f16c(const ElementOperands& operands) {
  sum_floats<Fp16, kDivide>(operands);
}
#endif

// In the order of DataType and ElementOperation.
const ElementKernels kKernels{{{
    {sum_floats<Fp32, false>, sum_floats<Fp32, true>, extreme_floats<Fp32, true>,
     extreme_floats<Fp32, false>},
    {sum_fp16_with_f16c<false>, sum_fp16_with_f16c<true>, extreme_floats<Fp16, true>,
     extreme_floats<Fp16, false>},
    {sum_floats<Bf16, false>, sum_floats<Bf16, true>, extreme_floats<Bf16, true>,
     extreme_floats<Bf16, false>},
    {reduce_integers<Int32, ElementOperation::kSum>,
     reduce_integers<Int32, ElementOperation::kSumThenDivide>,
     reduce_integers<Int32, ElementOperation::kMax>,
     reduce_integers<Int32, ElementOperation::kMin>},
    {reduce_integers<Int8, ElementOperation::kSum>,
     reduce_integers<Int8, ElementOperation::kSumThenDivide>,
     reduce_integers<Int8, ElementOperation::kMax>, reduce_integers<Int8, ElementOperation::kMin>},
    {reduce_integers<Uint8, ElementOperation::kSum>,
     reduce_integers<Uint8, ElementOperation::kSumThenDivide>,
     reduce_integers<Uint8, ElementOperation::kMax>,
     reduce_integers<Uint8, ElementOperation::kMin>},
}}};

}  // namespace
}  // namespace gradhaul

#undef GRADHAUL_INDEPENDENT
