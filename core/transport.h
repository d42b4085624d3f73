#pragma once

// The seam to whatever moves bytes between ranks: a simulator, sockets, verbs. Contract, tested by
// one conformance suite (tests/conformance) for every transport:
//
//  1. post_write() and flush() never deliver a completion themselves.
//  2. Each data write yields exactly one kWriteDone here and one kWriteArrived at the peer; each
//     credit write one kCreditDone here and one kCreditArrived there.
//  3. On one connection, each kind of completion comes in the order of the posts. Nothing is
//     promised between kinds or between connections.
//  4. When kWriteArrived is delivered, the bytes are readable by the peer's reducer (flushing GPU
//     memory is the transport's own business).
//  5. A source may be overwritten once kWriteDone is delivered, not before.
//  6. More than limits() allows is a programmer error, asserted; so there is no "queue full".
//  7. After the first failed completion a connection delivers only failed completions.
//  8. One thread: calls and deliveries happen on the driver's thread.
//
// Striping over queue pairs and NICs, signalling and doorbells are the transport's own business: it
// completes a write when all its parts have.

#include <cstdint>

#include "core/completion.h"
#include "core/memory.h"
#include "core/quantities.h"

namespace gradhaul {

enum class WriteKind : std::uint8_t {
  kData,    // `length` bytes into the peer's receive slot `slot`
  kCredit,  // no bytes: returns `slots_returned` receive slots to the peer
};

struct WriteRequest {
  ConnectionId connection = 0;
  WriteKind kind = WriteKind::kData;
  BufferRef source;                 // kData
  Bytes length;                     // kData, at least 1
  std::int32_t slot = 0;            // kData
  std::int32_t slots_returned = 0;  // kCredit, at least 1
};

struct TransportLimits {
  Bytes max_write{std::int64_t{1} << 31};    // RC queue pairs: 2^31 bytes [IBTA vol. 1, 9.2]
  std::int32_t max_writes_in_flight = 4096;  // of one connection, each kind by itself
};

class Transport {
 public:
  virtual TransportLimits limits() const = 0;
  virtual void post_write(const WriteRequest& request) = 0;  // stages
  virtual void flush() = 0;                                  // one doorbell for all that was staged

 protected:
  ~Transport() = default;
};

}  // namespace gradhaul
