#pragma once

// The seam to whatever adds: a CPU, a GPU kernel, or the model of one. Asynchronous; requests of
// one stream (a channel of a rank) complete in post order with kReduceDone, id = stream, and may
// not complete from inside post_reduce(). Three-address, so that out-of-place costs no copy:
// `target` may be the same memory as `left`.

#include <cstdint>

#include "core/memory.h"
#include "core/quantities.h"
#include "core/workload.h"

namespace gradhaul {

enum class ReduceKind : std::uint8_t {
  kCopy,    // target = left
  kReduce,  // target = left op right
};

struct ReduceRequest {
  std::int32_t stream = 0;
  ReduceKind kind = ReduceKind::kCopy;
  BufferRef target;
  BufferRef left;
  BufferRef right;         // kReduce
  std::int64_t count = 0;  // elements, at least 1
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;  // kAvg adds, and divides by `divisor` at the last
  std::int32_t divisor = 1;               // above 1: divide the result of a kReduce by it
};

class Reducer {
 public:
  virtual void post_reduce(const ReduceRequest& request) = 0;

 protected:
  ~Reducer() = default;
};

}  // namespace gradhaul
