// Until when nothing that a station does is seen outside: by events, by acknowledgements that its
// NIC has to send, by the transport. Bounds from below, from what waits now: who comes later is
// later.

#include <algorithm>

#include "sim/packet_transport.h"
#include "sim/stations.h"

namespace gradhaul {

// When what is ready before a link at `ready` may start, behind so many plain packets at the head
// of a ring: they take their time.
std::int64_t Stations::start_behind(std::int64_t plain, const WaitingRing& ring, std::int64_t ready,
                                    const LinkState& link, std::int64_t now) const {
  const std::int64_t idle = std::max(now, link.free);
  if (plain == 0) return std::max(ready, idle);
  const std::int64_t time = plain_[static_cast<std::size_t>(ring.front().hop)].time;
  return std::max(ready, idle + plain * time);
}

// When the first that waits in a ring and is no plain packet may start.
std::int64_t Stations::special_start(const WaitingRing& ring, const LinkState& link,
                                     std::int64_t now) const {
  const std::int64_t before = ring.before_special();
  return before < 0 ? INT64_MAX : start_behind(before, ring, ring[before].ready, link, now);
}

// What is not a plain packet is seen some time after it starts: what has been read, after it has
// crossed the network.
void Stations::look_ahead(Nic& nic, std::int64_t now) {
  const auto after = [](std::int64_t start, std::int64_t later) {
    return start == INT64_MAX ? start : start + later;
  };
  nic.unlike = std::min(nic.wake, next_unlike(nic, now));
  std::int64_t out = std::min(nic.unlike, special_start(nic.data, *nic.out, now));
  const std::int64_t others = std::min(nic.credits.ready(), nic.acknowledgements.ready());
  if (others != INT64_MAX) {
    out = std::min(out, start_behind(nic.data.before(others), nic.data, others, *nic.out, now));
  }
  std::int64_t quiet = after(out, crossing_);
  if (nic.up != nullptr) {
    quiet = std::min({quiet, after(special_start(nic.requests, *nic.up, now), reading_ + crossing_),
                      after(special_start(nic.writes, *nic.up, now), writing_)});
  }
  quiet_.set(number_of(nic), quiet);
}

void Stations::look_ahead(Wire& wire, std::int64_t now) {
  std::int64_t special = INT64_MAX;
  for (const WaitingRing* ring : wire.rings) {
    special = std::min(special, special_start(*ring, *wire.state, now));
  }
  quiet_.set(number_of(wire), special == INT64_MAX ? special : special + arrival_);
}

// When a NIC whose buffer is full may next ask for a packet that is not plain: each plain one that
// it asks for takes the place of one that has begun to leave, and plain ones leave one after the
// other. Others may take no time, and the last of a message may fit beside the plain one before it.
std::int64_t Stations::next_unlike(const Nic& nic, std::int64_t now) const {
  if (nic.links.injector == kNone) return INT64_MAX;
  const Injector& sender = transport_.injectors_[static_cast<std::size_t>(nic.links.injector)];
  std::int64_t next = INT64_MAX;
  const std::int64_t leaves =
      std::max({now, nic.out->free, nic.data.empty() ? now : nic.data.ready()});
  for (const std::int32_t pair : sender.active) {
    const Message& sending = transport_.messages_[static_cast<std::size_t>(
        transport_.queue_pairs_[static_cast<std::size_t>(pair)].head)];
    const std::int64_t plain = plain_left(sending) - nic.data.specials();
    if (plain <= 0) return leaves;
    const PlainLane& lane = lanes_[static_cast<std::size_t>(sending.wire)];
    const std::int64_t time = plain_[static_cast<std::size_t>(lane.wire)].time;
    next = std::min(next, leaves + (plain - 1) * time);
  }
  return next;
}

}  // namespace gradhaul
