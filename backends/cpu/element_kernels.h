#pragma once

// target[i] = left[i] op right[i], for every datatype and operation, compiled for several
// instruction sets that all give the same bits.
//
// What is computed, an element at a time:
//   fp32         in fp32, rounded to nearest even at each operation.
//   fp16, bf16   widened to fp32, operated on there (sum, then the division), rounded once more to
//                the half type. For a sum alone this is the correctly rounded sum, since 24 bits
//                are at least twice the half's and two more (Figueroa 1995).
//   int32, int8, uint8
//                sums wrap modulo 2^32 or 2^8; the division truncates towards zero, as C's does.
//   max, min     IEEE 754-2019 maximumNumber: a NaN loses to a number, as in fmaxf of C and CUDA
//                and hence in NCCL; and +0 is greater than -0, so the order of operands is nothing.
//   NaN results  are always 0x7fffffff, or 0x7fff for a half: the NaN that CUDA calls canonical
//                (CUDART_NAN_F, CUDART_NAN_FP16). Payloads would depend on the order of operands,
//                which compilers swap.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/workload.h"

namespace gradhaul {

enum class ElementOperation : std::uint8_t { kSum, kSumThenDivide, kMax, kMin };
inline constexpr std::size_t kElementOperations = 4;

// `target` may be `left` or `right` or both, exactly; a partial overlap is not allowed. No
// alignment is assumed.
struct ElementOperands {
  std::byte* target = nullptr;
  const std::byte* left = nullptr;
  const std::byte* right = nullptr;
  std::int64_t count = 0;
  std::int32_t divisor = 1;  // kSumThenDivide
};

using ElementKernel = void (*)(const ElementOperands& operands);

struct ElementKernels {
  std::array<std::array<ElementKernel, kElementOperations>, kDataTypes.size()> table{};
  ElementKernel at(DataType type, ElementOperation operation) const {
    return table[static_cast<std::size_t>(type)][static_cast<std::size_t>(operation)];
  }
};

enum class InstructionSet : std::uint8_t {
  kBaseline,  // what the compiler may assume of every machine
  kAvx2,      // AVX2, F16C
  kAvx512,    // AVX-512 F, BW, DQ, VL, F16C
};

// Whether this build and this machine have it. kBaseline is always available.
bool available(InstructionSet set);
InstructionSet best_instruction_set();

// `set` is available.
const ElementKernels& element_kernels(InstructionSet set);

}  // namespace gradhaul
