#include "sim/stations.h"

#include <algorithm>

#include "core/assert.h"
#include "sim/packet_transport.h"

namespace gradhaul {

Stations::Nic* Stations::nic_of(std::int32_t injector) {
  if (static_cast<std::size_t>(injector) >= nic_of_injector_.size()) return nullptr;
  const std::int32_t number = nic_of_injector_[static_cast<std::size_t>(injector)];
  return number == kNone ? nullptr : &nics_[static_cast<std::size_t>(number)];
}

bool Stations::wake_at(std::int32_t injector, std::int64_t time) {
  Nic* nic = nic_of(injector);
  if (nic == nullptr) return false;
  nic->wake = std::min(nic->wake, time);
  *nic->next = std::min(*nic->next, time);
  nic->unlike = std::min(nic->unlike, time);
  quiet_.bring_forward(number_of(*nic), time + crossing_);
  return true;
}

bool Stations::transmit(std::int32_t injector) {
  Nic* nic = nic_of(injector);
  if (nic == nullptr) return false;
  catch_up(nic->links.out);
  transmit_by_event(*nic, engine_.now_);
  touch(*nic);
  return true;
}

void Stations::transmit_by_event(Nic& nic, std::int64_t now) {
  nic.data.stand();
  nic.requests.stand();
  asks_by_event_ = true;
  transmit(nic, now);
  asks_by_event_ = false;
}

// It may have something to do now.
void Stations::touch(Nic& nic) {
  *nic.next = std::min(*nic.next, engine_.now_);
  if (!stepping_) look_ahead(nic, engine_.now_);
}

void Stations::send(FlowId flow, const Packet& sent, std::int64_t ready) {
  const Entry& entry = entries_[static_cast<std::size_t>(flow)];
  Nic& nic = nics_[static_cast<std::size_t>(entry.nic)];
  settle(engine_.flows_[static_cast<std::size_t>(flow)].first_hop);
  if (entry.kind == kAnswer) {
    Packet packet = sent;
    engine_.number(flow, packet, ready);
    return answer(nic, packet);
  }
  const PacketId id = engine_.add_packet(sent);
  Packet& packet = engine_.packet(id);
  engine_.number(flow, packet, ready);
  const WaitingPacket waiting{ready, engine_.hop_of(packet).ordinal, packet.hop, packet.message,
                              id};
  const bool now_asked = ready == engine_.now_ && (stepping_ || asks_by_event_);
  if (now_asked && (entry.ring == &nic.data || entry.ring == &nic.requests)) {
    wait_in(*entry.ring, waiting);
  } else {
    entry.ring->push(waiting);
  }
  *nic.next = std::min(*nic.next, ready);
  nic.unlike = std::min(nic.unlike, ready);
  quiet_.bring_forward(number_of(nic), ready + (entry.ring == &nic.writes ? writing_ : crossing_));
}

// At one instant the NIC wakes before anything starts, and its wire comes before its PCIe link.
std::int64_t Stations::step(Nic& nic, std::int64_t end) {
  while (true) {
    std::int64_t out = nic.out_start();
    const std::int64_t up = nic.up_start();
    // What else happens sooner may put something before what is first.
    if (nic.gate != nullptr && out < std::min(end, nic.wake) && out <= up) {
      out = start_for_credits(*nic.gate, nic.first_out().front(), out);
      if (out == INT64_MAX) end = std::min(end, nic.gate->unknown_from());
    }
    const std::int64_t next = std::min({out, up, nic.wake});
    if (next >= end) {
      pause(nic, end);
      return end;
    }
    engine_.now_ = next;
    ++engine_.events_;
    if (nic.wake == next) {
      nic.wake = INT64_MAX;
      transport_.injectors_[static_cast<std::size_t>(nic.links.injector)].wake = INT64_MAX;
      transmit_by_event(nic, next);
    } else if (out == next) {
      leave_nic(nic, out);
    } else {
      leave_up(nic, up);
    }
  }
}

void Stations::pause(Nic& nic, std::int64_t end) {
  *nic.next = std::min({nic.out_start(), nic.up_start(), nic.wake});
  nic.unlike = std::min(nic.wake, next_unlike(nic, end));
}

// A packet that finds the wire free has not waited; who comes while it is busy waits from then on.
void Stations::leave_nic(Nic& nic, std::int64_t start) {
  LinkState& state = *nic.out;
  const WaitingPacket waiting = nic.first_out().pop();
  if (state.backlog_since < 0 && waiting.ready < start) state.backlog_since = waiting.ready;
  std::int32_t payload = packet_payload_;
  if (waiting.packet == kNone) {
    cross(waiting, state, start);
  } else {
    Packet packet = take(waiting);
    payload = packet.payload;
    cross(packet, nic.links.out, start);
  }
  if (payload > 0) {
    transport_.injectors_[static_cast<std::size_t>(nic.links.injector)].buffered -= payload;
    transmit(nic, start);
  }
  note_backlog(state, nic.out_ready(), start);
}

void Stations::settle_backlog(LinkId out) {
  const auto number = static_cast<std::size_t>(station_of_[static_cast<std::size_t>(out)]);
  if (number >= nics_.size() || nics_[number].links.out != out) return;
  const Nic& nic = nics_[number];
  LinkState& state = *nic.out;
  if (state.backlog_since >= 0) return;
  const std::int64_t ready = nic.out_ready();
  if (ready < engine_.now_) state.backlog_since = ready;
}

Packet Stations::take(const WaitingPacket& special) {
  const Packet taken = engine_.packet(special.packet);
  engine_.free(special.packet);
  return taken;
}

std::int64_t Stations::serve(Packet& packet, LinkId link, std::int64_t start) {
  settle(packet.hop);
  LinkState& state = engine_.link_state(link);
  PacketEngine::FlowHop& hop = engine_.hop_of(packet);
  const std::int64_t serialisation =
      PacketEngine::serialise(state, engine_.form_of(hop, packet), start);
  engine_.count_served(state, hop, packet, start, serialisation);
  trace(packet, link, start);
  return serialisation;
}

void Stations::trace(const Packet& packet, LinkId link, std::int64_t start) {
  if (packet.trace == kNone) return;
  engine_.now_ = start;
  const std::int64_t stalled =
      waits_ ? gates_[static_cast<std::size_t>(link)].stalled(packet.ready, start) : 0;
  engine_.trace(packet.trace).stalled_at_arrival = engine_.state(link).stall_total - stalled;
  engine_.trace_start(packet, link);
}

// Over a pair of links, the second of which does what the first did, its latency later. Afterwards
// the packet is at the second, and ready there when it started.
std::int64_t Stations::serve_pair(Packet& packet, const LinkId (&links)[2], MirroredLink& second,
                                  std::int64_t start) {
  const LinkState& first = engine_.state(links[0]);
  PacketEngine::FlowHop& hop = engine_.hop_of(packet);
  const std::int64_t there = start + first.latency;
  if (first.digest.count == 0) {
    const std::uint64_t part = LinkDigest::part(hop.ordinal, packet.sequence - hop.last_sequence);
    second.begin(first.digest.record(start, part), first.digest.record(there, part));
  }
  const std::int64_t serialisation = serve(packet, links[0], start);
  if (hop.data && packet.last_part) ++engine_.packet_hops_;
  ++packet.hop;
  packet.ready = there;
  trace(packet, links[1], there);
  return serialisation;
}

void Stations::settle() {
  for (const std::int32_t hop : plain_hops_) settle(hop);
  for (const Nic& nic : nics_) {
    if (nic.links.up[1] != kNoLink) {
      nic.second_up.settle(*nic.up, engine_.link_state(nic.links.up[1]));
    }
    if (nic.links.answer[1] != kNoLink) {
      nic.second_answer.settle(*nic.answer, engine_.link_state(nic.links.answer[1]));
    }
  }
  for (const std::int32_t hop : second_hops_) sequence_of(hop) = sequence_of(hop - 1);
}

void Stations::deliver(Packet& packet, LinkId link, std::int64_t start,
                       std::int64_t serialisation) {
  const std::int64_t delivered = start + serialisation + engine_.state(link).latency;
  engine_.count_delivered(engine_.hop_of(packet), packet, serialisation);
  engine_.endpoints_.on_delivery(packet, delivered);
}

// Over a wire of the network, from the buffer before it into the one behind.
void Stations::cross(Packet& packet, LinkId link, std::int64_t start) {
  const std::int64_t serialisation = take_credits_and_serve(packet, link, start);
  PacketEngine::FlowHop& hop = engine_.hop_of(packet);
  packet.ingress = link;
  packet.ingress_copy = hop.copy;
  packet.ingress_units = static_cast<std::int16_t>(wants_credits(link) ? hop.form.credits : 0);
  if (hop.last) {
    if (!hop.endpoint_keeps_buffer) empty_far_buffer(packet, link, start, serialisation);
    return deliver(packet, link, start, serialisation);
  }
  const std::int64_t wait = engine_.wait_for_tail(hop, packet, serialisation);
  ++packet.hop;
  packet.ready = start + engine_.state(link).latency + wait;
  const PacketEngine::FlowHop& next = engine_.hop_of(packet);
  ring_between(link, next.link)
      .push({packet.ready, next.ordinal, packet.hop, packet.message, engine_.add_packet(packet)});
  const auto station = static_cast<std::size_t>(station_of_[static_cast<std::size_t>(next.link)]);
  next_[station] = std::min(next_[station], packet.ready);
  quiet_.bring_forward(station, packet.ready + arrival_);
}

// A read request, or a write, by both links of the pair.
void Stations::leave_up(Nic& nic, Packet& packet, bool request, std::int64_t start) {
  const std::int64_t serialisation = serve_pair(packet, nic.links.up, nic.second_up, start);
  const std::int64_t units = (&engine_.hop_of(packet))[-1].form.units;
  if (request) {
    nic.requests_under_way.take(start, units, serialisation);
  } else {
    nic.writes_under_way.take(start, units, serialisation);
    if (units > nic.whole_writes) throw EventsNeeded{};
  }
  if (packet.ingress_units > 0) {
    Packet leaving = packet;
    --leaving.hop;
    give_back(leaving, start, serialisation, nic.up->resource);
    packet.ingress_units = 0;
  }
  packet.ingress = nic.links.up[1];
  deliver(packet, nic.links.up[1], packet.ready, serialisation);
}

// What a request is answered by leaves as soon as it is ready and the one before has left.
void Stations::answer(Nic& nic, Packet& packet) {
  const std::int64_t now = engine_.now_;
  LinkState& first = *nic.answer;
  const std::int64_t start = std::max(packet.ready, first.free);
  PacketEngine::count_backlog(first, packet, start);
  const std::int64_t serialisation = serve_pair(packet, nic.links.answer, nic.second_answer, start);
  nic.answers_under_way.take(start, (&engine_.hop_of(packet))[-1].form.units, serialisation);
  deliver(packet, nic.links.answer[1], packet.ready, serialisation);
  engine_.now_ = now;
}

void Stations::append_state(StateWords& words) const {
  const auto append = [&](const WaitingRing& ring, const CreditGate* gate) {
    words.add(ring.size());
    for (std::int64_t i = 0; i < ring.size(); ++i) {
      const WaitingPacket& waiting = ring[i];
      words.add(waiting.packet == kNone);
      if (waiting.packet != kNone) {
        engine_.append_packet(words, engine_.packets_[static_cast<std::size_t>(waiting.packet)],
                              kNoLink);
        if (gate != nullptr) words.add(gate->stalled(waiting.ready, engine_.now_));
        continue;
      }
      words.add_time(waiting.ready);
      words.add(waiting.hop, waiting.ingress, waiting.ingress_units);
      words.add_message(waiting.message);
    }
  };
  for (const Nic& nic : nics_) {
    for (const WaitingRing* ring : {&nic.data, &nic.credits, &nic.acknowledgements}) {
      append(*ring, nic.gate);
    }
    for (const WaitingRing* ring : {&nic.requests, &nic.writes}) append(*ring, nullptr);
  }
  for (const Wire& wire : wires_) {
    for (const WaitingRing* ring : wire.rings) append(*ring, wire.gate);
  }
}

}  // namespace gradhaul
