#include "sim/stations.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

bool Stations::wake_at(std::int32_t injector, std::int64_t time) {
  if (static_cast<std::size_t>(injector) >= nic_of_injector_.size()) return false;
  const std::int32_t number = nic_of_injector_[static_cast<std::size_t>(injector)];
  if (number == kNone) return false;
  Nic& nic = nics_[static_cast<std::size_t>(number)];
  nic.wake = std::min(nic.wake, time);
  nic.next = std::min(nic.next, time);
  return true;
}

void Stations::send(FlowId flow, const Packet& sent, std::int64_t ready) {
  Packet packet = sent;
  engine_.number(flow, packet, ready);
  const Entry& entry = entries_[static_cast<std::size_t>(flow)];
  Nic& nic = nics_[static_cast<std::size_t>(entry.station)];
  if (entry.kind == kAnswer) return answer(nic, packet);
  rings_[static_cast<std::size_t>(entry.ring)].push(packet, engine_.hop_of(packet).ordinal);
  nic.next = std::min(nic.next, ready);
}

std::int64_t Stations::next_action() const {
  std::int64_t next = INT64_MAX;
  for (const Nic& nic : nics_) next = std::min(next, nic.next);
  for (const Wire& wire : wires_) next = std::min(next, wire.next);
  return next;
}

void Stations::advance(std::int64_t limit) {
  const std::int64_t now = engine_.now_;
  engine_.ahead_ = true;
  bool moved = true;
  while (true) {
    const std::int64_t stop = std::min(limit, engine_.wheel_.next_time());
    if (!moved) clock_ = std::max(clock_, std::min(stop, next_action()));
    if (clock_ >= stop) break;
    const std::int64_t end = std::min(stop, clock_ + window_);
    moved = false;
    for (Nic& nic : nics_) {
      if (nic.next >= end) continue;
      step(nic, end);
      moved = true;
    }
    for (Wire& wire : wires_) {
      if (wire.next >= end) continue;
      step(wire, end);
      moved = true;
    }
    clock_ = end;
  }
  engine_.ahead_ = false;
  engine_.now_ = now;
}

// What is ready first goes first, when the link is free.
template <typename Rings>
Stations::Next Stations::next_of(LinkId link, const Rings& rings) {
  Next next;
  for (const std::int32_t number : rings) {
    PacketRing& ring = rings_[static_cast<std::size_t>(number)];
    if (next.ring == nullptr || ring.before(*next.ring)) next.ring = &ring;
  }
  next.start = std::max(next.ring->ready(), engine_.state(link).free);
  return next;
}

// At one instant the NIC wakes before anything starts, and its wire comes before its PCIe link.
void Stations::step(Nic& nic, std::int64_t end) {
  while (true) {
    const Next out = next_of(nic.links.out, nic.out_rings);
    Next up;
    if (nic.links.up[0] != kNoLink) up = next_of(nic.links.up[0], nic.up_rings);
    nic.next = std::min({out.start, up.start, nic.wake});
    if (nic.next >= end) return;
    engine_.now_ = nic.next;
    ++engine_.events_;
    if (nic.wake == nic.next) {
      nic.wake = INT64_MAX;
      engine_.endpoints_.on_event(wake_, nic.links.injector);
    } else if (out.start == nic.next) {
      leave_nic(nic, *out.ring, out.start);
    } else {
      leave_up(nic, *up.ring, up.start);
    }
  }
}

void Stations::step(Wire& wire, std::int64_t end) {
  while (true) {
    const Next next = next_of(wire.link, wire.rings);
    wire.next = next.start;
    if (wire.next >= end) return;
    Packet packet = next.ring->pop();
    ++engine_.events_;
    cross(packet, wire.link, next.start);
  }
}

std::int64_t Stations::serve(Packet& packet, LinkId link, std::int64_t start) {
  LinkState& state = engine_.link_state(link);
  const TrainForm& form = engine_.form_of(engine_.hop_of(packet), packet);
  const std::int64_t serialisation = PacketEngine::serialise(state, form, start);
  count(packet, link, start, serialisation);
  return serialisation;
}

void Stations::count(const Packet& packet, LinkId link, std::int64_t start,
                     std::int64_t serialisation) {
  LinkState& state = engine_.link_state(link);
  engine_.count_served(state, engine_.hop_of(packet), packet, start, serialisation);
  if (packet.trace == kNone) return;
  engine_.now_ = start;
  engine_.trace(packet.trace).stalled_at_arrival = state.stall_total;
  engine_.trace_start(packet, link);
}

// Over a pair of links, the second of which does what the first did, its latency later. Afterwards
// the packet is at the second, and ready there when it started.
std::int64_t Stations::serve_pair(Packet& packet, const LinkId (&links)[2], std::int64_t start) {
  const std::int64_t step = packet.sequence - engine_.hop_of(packet).last_sequence;
  const std::int64_t serialisation = serve(packet, links[0], start);
  const LinkState& first = engine_.state(links[0]);
  LinkState& second = engine_.link_state(links[1]);
  ++packet.hop;
  packet.ready = start + first.latency;
  GRADHAUL_ASSERT(
      packet.ready >= second.free && packet.sequence - engine_.hop_of(packet).last_sequence == step,
      "the second link of a pair serves what the first does, and is free in time");
  second.carry = first.carry;
  count(packet, links[1], packet.ready, serialisation);
  return serialisation;
}

void Stations::deliver(Packet& packet, LinkId link, std::int64_t start,
                       std::int64_t serialisation) {
  const std::int64_t delivered = start + serialisation + engine_.state(link).latency;
  engine_.count_delivered(engine_.hop_of(packet), packet, serialisation);
  engine_.endpoints_.on_delivery(packet, delivered);
}

// Over a wire of the network, from the buffer before it into the one behind.
void Stations::cross(Packet& packet, LinkId link, std::int64_t start) {
  const std::int64_t serialisation = serve(packet, link, start);
  if (packet.ingress_units > 0) release(packet, start + serialisation);
  PacketEngine::FlowHop& hop = engine_.hop_of(packet);
  const std::int32_t units = hop.form.credits;
  WireCredits& credits = credits_[static_cast<std::size_t>(link)];
  credits.take(start, units);
  packet.ingress = link;
  packet.ingress_copy = hop.copy;
  packet.ingress_units = static_cast<std::int16_t>(units);
  if (hop.last) {
    if (!hop.endpoint_keeps_buffer) {
      const LinkState& state = engine_.state(link);
      release(packet, start + serialisation + state.latency);
      packet.ingress_units = 0;
    }
    return deliver(packet, link, start, serialisation);
  }
  const std::int64_t wait = engine_.wait_for_tail(hop, packet, serialisation);
  ++packet.hop;
  packet.ready = start + engine_.state(link).latency + wait;
  const PacketEngine::FlowHop& next = engine_.hop_of(packet);
  const auto wire = static_cast<std::size_t>(next.link);
  for (const auto& [from, ring] : ring_from_[wire]) {
    if (from != link) continue;
    rings_[static_cast<std::size_t>(ring)].push(packet, next.ordinal);
    break;
  }
  Wire& station = wires_[static_cast<std::size_t>(wire_of_[wire])];
  station.next = std::min(station.next, packet.ready);
}

void Stations::release(const Packet& delivered, std::int64_t time) {
  const LinkState& state = engine_.state(delivered.ingress);
  credits_[static_cast<std::size_t>(delivered.ingress)].give_back(time + state.return_after_leaving,
                                                                  delivered.ingress_units);
}

// A packet that finds the wire free has not waited; who comes while it is busy waits from then on.
void Stations::leave_nic(Nic& nic, PacketRing& ring, std::int64_t start) {
  LinkState& state = engine_.link_state(nic.links.out);
  Packet packet = ring.pop();
  if (state.backlog_since < 0 && packet.ready < start) state.backlog_since = packet.ready;
  const bool notify = engine_.hop_of(packet).notify_start;
  cross(packet, nic.links.out, start);
  if (notify) engine_.endpoints_.on_first_start(packet, start);
  bool waits = false;
  for (const std::int32_t number : nic.out_rings) {
    waits = waits || rings_[static_cast<std::size_t>(number)].ready() <= start;
  }
  if (waits) {
    if (state.backlog_since < 0) state.backlog_since = start;
  } else if (state.backlog_since >= 0) {
    state.backlog_total += start - state.backlog_since;
    state.backlog_since = -1;
  }
}

void Stations::settle_backlog(LinkId out) {
  const std::int32_t number = nic_of_out_[static_cast<std::size_t>(out)];
  if (number == kNone) return;
  LinkState& state = engine_.link_state(out);
  if (state.backlog_since >= 0) return;
  const Nic& nic = nics_[static_cast<std::size_t>(number)];
  const std::int64_t ready = next_of(out, nic.out_rings).ring->ready();
  if (ready < engine_.now_) state.backlog_since = ready;
}

// A read request, or a write, by both links of the pair.
void Stations::leave_up(Nic& nic, PacketRing& ring, std::int64_t start) {
  Packet packet = ring.pop();
  const bool request = &ring == &rings_[static_cast<std::size_t>(nic.up_rings[0])];
  const std::int64_t serialisation = serve_pair(packet, nic.links.up, start);
  const std::int64_t units = (&engine_.hop_of(packet))[-1].form.units;
  if (request) {
    nic.requests.take(start, units, serialisation);
  } else {
    nic.writes.take(start, units, serialisation);
    if (units > nic.whole_writes) throw CreditsRanOut{};
  }
  if (packet.ingress_units > 0) {
    release(packet, start + serialisation);
    packet.ingress_units = 0;
  }
  packet.ingress = nic.links.up[1];
  deliver(packet, nic.links.up[1], packet.ready, serialisation);
}

// What a request is answered by leaves as soon as it is ready and the one before has left.
void Stations::answer(Nic& nic, Packet& packet) {
  const std::int64_t now = engine_.now_;
  LinkState& first = engine_.link_state(nic.links.answer[0]);
  const std::int64_t start = std::max(packet.ready, first.free);
  PacketEngine::count_backlog(first, packet, start);
  const std::int64_t serialisation = serve_pair(packet, nic.links.answer, start);
  nic.answers.take(start, (&engine_.hop_of(packet))[-1].form.units, serialisation);
  deliver(packet, nic.links.answer[1], packet.ready, serialisation);
  engine_.now_ = now;
}

void Stations::append_state(StateWords& words) const {
  for (const PacketRing& ring : rings_) {
    words.add(ring.size());
    for (std::int64_t i = 0; i < ring.size(); ++i) {
      engine_.append_packet(words, ring[i], kNoLink);
    }
  }
}

}  // namespace gradhaul
