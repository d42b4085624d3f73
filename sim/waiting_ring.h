#pragma once

// What has come, or will come, by one way to a link of a station (sim/stations.h): in the order in
// which it is ready, of what is ready together by the number of the flow on the link.

#include <cstdint>
#include <utility>

#include "sim/growing_ring.h"
#include "sim/packet.h"

namespace gradhaul {

// A packet before a link. Of a plain one (sim/plain_hop.h) this is all there is to know.
struct WaitingPacket {
  std::int64_t ready = 0;
  std::int32_t ordinal = 0;        // of its flow on the link
  std::int32_t hop = 0;            // the engine's number of flow and link together
  std::int32_t message = kNone;    // Endpoints' own
  PacketId packet = kNone;         // the engine's; kNone: a plain one
  LinkId ingress = kNoLink;        // whose far-end buffer it fills
  std::int32_t ingress_units = 0;  // how much of it, in that link's credits
};
static_assert(sizeof(WaitingPacket) == 32);

class WaitingRing {
 public:
  bool empty() const { return waiting_.empty(); }
  std::int64_t size() const { return waiting_.size(); }
  const WaitingPacket& front() const { return waiting_.front(); }
  const WaitingPacket& operator[](std::int64_t i) const { return waiting_[i]; }
  // When the first is; INT64_MAX: there is none.
  std::int64_t ready() const { return ready_; }
  bool before(const WaitingRing& other) const {
    return ready_ != other.ready_ ? ready_ < other.ready_
                                  : !empty() && front().ordinal < other.front().ordinal;
  }
  // How many are no plain packets.
  std::int64_t specials() const { return specials_; }
  // How many plain packets come before the first that is not one; -1: there is none.
  std::int64_t before_special() const {
    if (specials_ == 0) return -1;
    std::int64_t place = 0;
    while (waiting_[place].packet == kNone) ++place;
    return place;
  }
  // How many plain packets at its head are ready before then.
  std::int64_t before(std::int64_t ready) const {
    std::int64_t place = 0;
    while (place < size() && waiting_[place].packet == kNone && waiting_[place].ready < ready) {
      ++place;
    }
    return place;
  }
  // The first, which is a plain packet, has been seen to.
  [[gnu::always_inline]] void drop() {
    waiting_.pop();
    ready_ = empty() ? INT64_MAX : front().ready;
  }
  WaitingPacket pop() {
    const WaitingPacket first = waiting_.front();
    specials_ -= first.packet != kNone;
    drop();
    return first;
  }
  // In order, but behind all that waited here at the last stand().
  void stand() { standing_ = size(); }
  [[gnu::noinline]] void push_after_standing(const WaitingPacket& added) {
    push_behind(added);
    sort_in(standing_);
  }
  // Behind all that wait here.
  [[gnu::always_inline]] void push_behind(const WaitingPacket& added) {
    specials_ += added.packet != kNone;
    if (waiting_.empty()) ready_ = added.ready;
    write(waiting_.next(), added);
  }
  [[gnu::always_inline]] void push(const WaitingPacket& added) {
    const bool sorted =
        waiting_.empty() || waiting_.back().ready < added.ready || !earlier(added, waiting_.back());
    push_behind(added);
    if (!sorted) sort_in(0);  // hardly ever
  }

 private:
  [[gnu::noinline]] void sort_in(std::int64_t standing) {
    std::int64_t place = size() - 1;
    for (; place > standing && earlier(waiting_[place], waiting_[place - 1]); --place) {
      std::swap(waiting_[place], waiting_[place - 1]);
    }
    if (place == 0) ready_ = waiting_.front().ready;
  }
  // Member by member: gathered on the stack first, they would be read back before they are there.
  [[gnu::always_inline]] static void write(WaitingPacket& slot, const WaitingPacket& added) {
    slot.ready = added.ready;
    slot.ordinal = added.ordinal;
    slot.hop = added.hop;
    slot.message = added.message;
    slot.packet = added.packet;
    slot.ingress = added.ingress;
    slot.ingress_units = added.ingress_units;
  }
  static bool earlier(const WaitingPacket& a, const WaitingPacket& b) {
    return a.ready != b.ready ? a.ready < b.ready : a.ordinal < b.ordinal;
  }

  std::int64_t ready_ = INT64_MAX;
  std::int64_t specials_ = 0;
  std::int64_t standing_ = 0;
  GrowingRing<WaitingPacket> waiting_;
};

}  // namespace gradhaul
