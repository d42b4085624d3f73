#pragma once

// What a reduction of two elements must give, by the definitions of IEEE 754 and nothing clever:
// every value is a double, which holds all of them exactly, and one function rounds a double to a
// format. Sums, quotients by an int and products of at most 24-bit values suffer no double rounding
// on the way (53 bits are at least twice 24 and two more; Figueroa 1995). Elements are bit
// patterns, in the low bits of a uint32.

#include <cstdint>

#include "core/workload.h"

namespace gradhaul::oracle {

// IEEE 754 parameters of a binary format.
struct FloatFormat {
  int precision = 24;         // bits of the significand, the hidden one included
  int least_exponent = -126;  // of a normal number
  int storage_bits = 32;
};

FloatFormat format_of(DataType type);  // not of integers

// Of an integer type: what a value is modulo 2 to the power of its bits, and its bit patterns.
std::int64_t wrapped(DataType type, std::int64_t value);
std::int64_t integer_of(DataType type, std::uint32_t element);
std::uint32_t integer_element(DataType type, std::int64_t value);

// The exact value of an element; NaN for every NaN.
double value_of(DataType type, std::uint32_t element);

// To nearest, ties to even; all ones but the sign for NaN.
std::uint32_t element_of(DataType type, double value);

// left op right, with element_kernels.h's rules for NaN, signed zeros and integers; `divisor` above
// 1 divides the sum of kAvg.
struct ElementReduction {
  DataType type = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  std::int32_t divisor = 1;
};
std::uint32_t reduced(const ElementReduction& how, std::uint32_t left, std::uint32_t right);

}  // namespace gradhaul::oracle
