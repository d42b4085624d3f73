#pragma once

// What is to be communicated: plain data, no invariants beyond what the fields say.

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
enum class DataType : std::uint8_t { kFp32, kFp16, kBf16, kInt32 };
enum class Reduction : std::uint8_t { kSum, kAvg, kMax, kMin };

constexpr Bytes size_of(DataType type) {
  return {type == DataType::kFp16 || type == DataType::kBf16 ? 2 : 4};
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
