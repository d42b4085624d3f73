#pragma once

// Packets before a link that have come, or will come, by one way: in the order in which they are
// ready, of those that are ready together by the number of their flow on the link.

#include <cstdint>
#include <utility>

#include "sim/growing_ring.h"
#include "sim/packet.h"

namespace gradhaul {

class PacketRing {
 public:
  bool empty() const { return packets_.empty(); }
  std::int64_t size() const { return packets_.size(); }
  const Packet& front() const { return packets_.front(); }
  const Packet& operator[](std::int64_t i) const { return packets_[i]; }
  // When the first is; INT64_MAX: there is none.
  std::int64_t ready() const { return ready_; }
  bool before(const PacketRing& other) const {
    return ready_ != other.ready_ ? ready_ < other.ready_
                                  : !empty() && front().next < other.front().next;
  }
  Packet pop() {
    const Packet first = packets_.front();
    packets_.pop();
    ready_ = empty() ? INT64_MAX : front().ready;
    return first;
  }
  void push(const Packet& packet, std::int32_t ordinal) {
    packets_.push(packet);
    std::int64_t place = size() - 1;
    packets_[place].next = ordinal;
    // Nearly always the last.
    for (; place > 0 && earlier(packets_[place], packets_[place - 1]); --place) {
      std::swap(packets_[place], packets_[place - 1]);
    }
    if (place == 0) ready_ = packet.ready;
  }

 private:
  // Nothing follows a packet of a ring: the number of its flow on the link stands in the place.
  static bool earlier(const Packet& a, const Packet& b) {
    return a.ready != b.ready ? a.ready < b.ready : a.next < b.next;
  }

  std::int64_t ready_ = INT64_MAX;
  GrowingRing<Packet> packets_;
};

}  // namespace gradhaul
