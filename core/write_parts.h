#pragma once

// How a write is cut that goes by all queue pairs of its connection at once
// (communication.split_over_queue_pairs), as NCCL has it with NCCL_IB_SPLIT_DATA_ON_QPS: even
// parts, rounded up to whole lines of LL128 [NCCL, ncclIbMultiSend in src/transport/net_ib]. Queue
// pairs for which nothing is left get nothing; NCCL posts immediates without data on these.

#include "core/quantities.h"

namespace gradhaul {

inline constexpr Bytes kPartAlignment{128};

// Of each part but the last, which is no longer.
constexpr Bytes part_length(Bytes write, int queue_pairs) {
  const std::int64_t even = (write.count + queue_pairs - 1) / queue_pairs;
  const std::int64_t lines = (even + kPartAlignment.count - 1) / kPartAlignment.count;
  return kPartAlignment * lines;
}

// Of a write that has bytes.
constexpr int count_parts(Bytes write, int queue_pairs) {
  const std::int64_t each = part_length(write, queue_pairs).count;
  return static_cast<int>((write.count + each - 1) / each);
}

}  // namespace gradhaul
