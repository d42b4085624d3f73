#pragma once

// What the world tells the core. The core is passive: inputs are completions, outputs are posts.

#include <cstdint>

#include "core/quantities.h"

namespace gradhaul {

// A connection as this rank numbers it: its index in CollectiveEngine::connections().
using ConnectionId = std::int32_t;

enum class CompletionKind : std::uint8_t {
  kWriteDone,      // a data write posted here: its source may be reused
  kWriteArrived,   // a peer's data write: its bytes are readable by the reducer
  kCreditDone,     // a credit write posted here has been taken off our hands
  kCreditArrived,  // a peer returned slots to us
  kReduceDone,     // a posted reduce or copy: its target is readable by the transport
};

// A world failure (queue pair in error, peer gone, deadline passed). No exception crosses the
// completion path.
enum class CompletionStatus : std::uint8_t { kOk, kFailed, kFlushed };

struct Completion {
  CompletionKind kind = CompletionKind::kWriteDone;
  CompletionStatus status = CompletionStatus::kOk;
  // kReduceDone: the stream of ReduceRequest, else the connection.
  std::int32_t id = 0;
  // kWriteDone, kWriteArrived: bytes written. kCreditArrived: slots returned. Else 0.
  std::int64_t amount = 0;
};

class CompletionSink {
 public:
  virtual void on_completion(const Completion& completion) = 0;

 protected:
  ~CompletionSink() = default;
};

}  // namespace gradhaul
