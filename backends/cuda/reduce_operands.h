#pragma once

// What a reduce kernel is given, by value: the same for the host that launches it and for the
// compiler of kernels. Addresses are the device's.

#include <cstdint>

namespace gradhaul {

struct GpuReduceOperands {
  std::uint64_t target = 0;  // a multiple of the element's size
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::int64_t count = 0;    // elements
  std::int32_t divisor = 1;  // of sum_then_divide
  std::int32_t width = 1;    // bytes: loads may be so wide where the target is at a multiple of 16
};

inline constexpr unsigned kReduceThreads = 256;  // of a block

}  // namespace gradhaul
