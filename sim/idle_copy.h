#pragma once

// A copy engine (sim/copy_engine.h) with everything on its way idle: its copies one after the
// other.

#include <cstdint>
#include <deque>

#include "sim/fabric.h"
#include "sim/idle_route.h"

namespace gradhaul {

class IdleCopy {
 public:
  IdleCopy() = default;
  // To host memory.
  explicit IdleCopy(IdleRoute writes) : data_(std::move(writes)) {}
  // From there; `reading`: from a request's arrival until its first byte leaves.
  IdleCopy(IdleRoute requests, IdleRoute completions, Bytes request, Duration reading)
      : in_(true),
        request_bytes_(request.count),
        reading_(reading.ps),
        requests_(std::move(requests)),
        data_(std::move(completions)) {}

  // The next slice, which may be copied from `ready` on: when the last of it is there.
  std::int64_t pass(std::int64_t size, std::int64_t ready);
  // No link where there is no such copy.
  const IdleRoute& data() const { return data_; }
  const IdleRoute& requests() const { return requests_; }

 private:
  struct Held {
    std::int64_t until;
    std::int64_t bytes;
  };
  bool in_ = false;
  std::int64_t request_bytes_ = 0;
  std::int64_t reading_ = 0;
  IdleRoute requests_;
  IdleRoute data_;
  std::int64_t asked_ = 0;
  std::int64_t outstanding_ = 0;
  std::deque<Held> held_;
};

}  // namespace gradhaul
