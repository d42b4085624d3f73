#pragma once

// What reductions of elements are tested with: special values in all pairs, and random ones.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "backends/cpu/element_kernels.h"
#include "tests/oracles/element_oracle.h"

namespace gradhaul {

struct NamedOperation {
  ElementOperation operation;
  Reduction reduction;
  std::int32_t divisor;
};
inline constexpr std::array kOperations{
    NamedOperation{ElementOperation::kSum, Reduction::kSum, 1},
    NamedOperation{ElementOperation::kSumThenDivide, Reduction::kAvg, 2},
    NamedOperation{ElementOperation::kSumThenDivide, Reduction::kAvg, 3},
    NamedOperation{ElementOperation::kSumThenDivide, Reduction::kAvg, 1000},
    NamedOperation{ElementOperation::kMax, Reduction::kMax, 1},
    NamedOperation{ElementOperation::kMin, Reduction::kMin, 1},
};

using Elements = std::vector<std::uint32_t>;

inline std::vector<std::byte> packed(DataType type, const Elements& elements) {
  const auto size = static_cast<std::size_t>(size_of(type).count);
  std::vector<std::byte> bytes(elements.size() * size);
  // Little-endian: the low bytes of an element are its first ones.
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(bytes.data() + i * size, &elements[i], size);
  }
  return bytes;
}

inline Elements unpacked(DataType type, const std::byte* bytes, std::size_t count) {
  const auto size = static_cast<std::size_t>(size_of(type).count);
  Elements elements(count, 0);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&elements[i], bytes + i * size, size);
  return elements;
}

// Zeros, ones, subnormals, the largest, infinities, NaNs quiet and signalling, of either sign.
inline Elements special_elements(DataType type) {
  if (type == DataType::kInt32) {
    return {0,          1,          2,          3,          7,          1000,
            0x7fffffff, 0x7ffffffe, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe};
  }
  if (is_integer(type)) return {0, 1, 2, 3, 7, 100, 0x7f, 0x7e, 0x80, 0x81, 0xff, 0xfe};
  const oracle::FloatFormat format = oracle::format_of(type);
  const int fraction = format.precision - 1;
  const std::uint32_t sign = 1U << (format.storage_bits - 1);
  const std::uint32_t infinity = sign - (1U << fraction);
  const std::uint32_t one = oracle::element_of(type, 1);
  Elements elements;
  for (const std::uint32_t magnitude :
       {0U, 1U, 2U, (1U << fraction) - 1, 1U << fraction, (1U << fraction) + 1, one, one + 1,
        one + (1U << fraction), infinity - 1, infinity - 2, infinity, infinity + 1,
        infinity + (1U << (fraction - 1)), sign - 1}) {
    elements.push_back(magnitude);
    elements.push_back(sign | magnitude);
  }
  return elements;
}

// All pairs of special elements, then random patterns, then random numbers of like magnitude.
inline std::pair<Elements, Elements> operands_of(DataType type) {
  std::pair<Elements, Elements> operands;
  const Elements special = special_elements(type);
  for (const std::uint32_t left : special) {
    for (const std::uint32_t right : special) {
      operands.first.push_back(left);
      operands.second.push_back(right);
    }
  }
  std::mt19937 generator(7);
  const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
  const std::uint32_t mask = ~0U >> (32 - 8 * size_of(type).count);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t left = random();
    operands.first.push_back(left & mask);
    operands.second.push_back((i % 2 == 0 ? random() : left ^ (random() & 0x83ffU)) & mask);
  }
  return operands;
}

}  // namespace gradhaul
