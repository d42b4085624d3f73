#pragma once

// What is to be communicated: plain data, no invariants beyond what the fields say.

#include <array>
#include <cstdint>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

enum class Collective : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kSendRecv,
};
enum class DataType : std::uint8_t { kFp32, kFp16, kBf16, kInt32, kInt8, kUint8 };
inline constexpr std::array kDataTypes{DataType::kFp32,  DataType::kFp16, DataType::kBf16,
                                       DataType::kInt32, DataType::kInt8, DataType::kUint8};
enum class Reduction : std::uint8_t { kSum, kAvg, kMax, kMin };

constexpr Bytes size_of(DataType type) {
  switch (type) {
    case DataType::kFp32:
    case DataType::kInt32:
      return {4};
    case DataType::kFp16:
    case DataType::kBf16:
      return {2};
    case DataType::kInt8:
    case DataType::kUint8:
      break;
  }
  return {1};
}

constexpr bool is_integer(DataType type) {
  return type == DataType::kInt32 || type == DataType::kInt8 || type == DataType::kUint8;
}

struct Workload {
  Collective collective = Collective::kAllReduce;
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  // Bytes per rank as nccl-tests counts them (all_to_all: what a rank sends in all, its own part
  // included), each rounded down to whole elements. One row of the result for each.
  std::vector<Bytes> sizes;
};

}  // namespace gradhaul
