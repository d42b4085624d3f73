#pragma once

// Tells whoever looks on at an engine (core/engine_observer.h); nobody by default.

#include "core/engine_observer.h"
#include "core/lane.h"
#include "core/transport.h"

namespace gradhaul {

class EngineWatch {
 public:
  void begin(EngineObserver& observer) { observer_ = &observer; }

  // The operation of the item at lane.start is about to be posted.
  void operation(const Lane& lane, ConnectionId receive) const {
    if (observer_ == nullptr) return;
    const StartCursor& at = lane.start;
    observer_->on_operation({lane.layout.channel, lane.layout.number, at.index, at.item.span},
                            receive);
  }
  // A send of the item at lane.send is looked at: held up, or about to be posted.
  void send(const EngineState& state, const Lane& lane, int number,
            const TransportLimits& limits) const {
    if (observer_ == nullptr) return;
    const SendCursor& at = lane.send;
    const auto place = static_cast<std::size_t>(number);
    const ConnectionId id = at.connections[place];
    const ObservedItem item{lane.layout.channel, lane.layout.number, at.index,
                            at.sends[place].span};
    const SendWindow& window = state.connection(id).sending;
    if (!window.has_credit()) {
      observer_->on_send_held(item, id);
    } else if (window.in_flight() < limits.max_writes_in_flight) {
      observer_->on_send(item, id);
    }
  }

 private:
  EngineObserver* observer_ = nullptr;
};

}  // namespace gradhaul
