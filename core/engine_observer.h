#pragma once

// What a collective's engine tells of its slices to whoever looks on: which item of the schedule a
// post belongs to, and what was kept from being posted.

#include <cstdint>

#include "core/completion.h"
#include "core/message_plan.h"

namespace gradhaul {

struct ObservedItem {
  std::int32_t channel = 0;
  std::int32_t lane = 0;
  std::int64_t index = 0;  // in the lane
  Span span;               // that is sent, or where the operation puts its result
};

class EngineObserver {
 public:
  // A send waits for a free slot at the peer. Told again each time it is looked at in vain.
  virtual void on_send_held(const ObservedItem& item, ConnectionId connection) = 0;
  // Transport::post_write() of it follows.
  virtual void on_send(const ObservedItem& item, ConnectionId connection) = 0;
  // Reducer::post_reduce() of it follows. `receive`: the connection whose slot it reads, or -1.
  virtual void on_operation(const ObservedItem& item, ConnectionId receive) = 0;

 protected:
  ~EngineObserver() = default;
};

}  // namespace gradhaul
