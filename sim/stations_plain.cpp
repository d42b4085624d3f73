// What stations do with plain packets (sim/plain_hop.h), which the transport has not got to see.

#include <algorithm>
#include <optional>
#include <utility>

#include "core/assert.h"
#include "sim/packet_transport.h"
#include "sim/stations.h"

namespace gradhaul {

// How many plain packets of the message a NIC asks for next.
std::int64_t Stations::plain_left(const Message& sending) const {
  if (sending.credit || sending.asked == 0) return 0;
  if (lanes_[static_cast<std::size_t>(sending.wire)].wire == kNone) return 0;
  return (sending.amount - sending.asked - 1) / packet_payload_;
}

Stations::Stream Stations::stream_of(std::int32_t index) {
  Message& message = transport_.messages_[static_cast<std::size_t>(index)];
  const PlainLane& lane = lanes_[static_cast<std::size_t>(message.wire)];
  const auto plain = [&](std::int32_t hop) {
    return hop == kNone ? nullptr : &plain_[static_cast<std::size_t>(hop)];
  };
  return {index, &message, &lane, plain(lane.request), plain(lane.completion), plain(lane.wire)};
}

// One of a few that take turns.
inline Stations::Stream& Stations::known_stream(std::int32_t index) {
  for (Stream& stream : streams_) {
    if (stream.index == index) return stream;
  }
  streams_.push_back(stream_of(index));
  return streams_.back();
}

// The NIC asks for as many packets as its buffer takes: for plain ones here, else as the transport
// does.
void Stations::transmit(Nic& nic, std::int64_t now) {
  Injector& sender = transport_.injectors_[static_cast<std::size_t>(nic.links.injector)];
  while (!sender.active.empty()) {
    const std::int32_t pair = sender.active.front();
    Stream stream = stream_of(transport_.queue_pairs_[static_cast<std::size_t>(pair)].head);
    if (plain_left(*stream.message) == 0) {
      if (!transport_.transmit_next(nic.links.injector)) return;
      continue;
    }
    if (sender.buffered > 0 && sender.buffered + packet_payload_ > sender.buffer) return;
    if (sender.active.size() > 1) {
      std::rotate(sender.active.begin(), sender.active.begin() + 1, sender.active.end());
    }
    sender.buffered += packet_payload_;
    ask(nic, stream, now);
  }
}

[[gnu::always_inline]] inline void Stations::ask(Nic& nic, Stream& stream, std::int64_t now) {
  stream.message->asked += packet_payload_;
  if (stream.request != nullptr) {
    ++stream.request->entered;
    wait_in(nic.requests, {now, stream.lane->request_ordinal, stream.lane->request, stream.index});
    return;
  }
  ++stream.wire->entered;
  stream.message->sent += packet_payload_;
  const WaitingPacket waiting{now + transmit_latency_, stream.lane->wire_ordinal, stream.lane->wire,
                              stream.index};
  if (transmit_latency_ > 0) return nic.data.push(waiting);
  wait_in(nic.data, waiting);
}

// Into the memory of an ideal GPU, at once.
void Stations::let_go(const PlainHop& form, const PlainWay& way, std::int64_t time) {
  if (!waits_) return release(way.link, form.credits, time);
  LinkState& link = engine_.link_state(way.link);
  if (form.credits == 0) return;
  link.credits[static_cast<int>(TrafficClass::kPosted)].add(
      {time + link.return_after_leaving, 0, form.credits, way.culprit, way.order});
}

// Over a wire of the network, from the buffer before it into the one behind.
[[gnu::always_inline]] inline void Stations::pass_on(const WaitingPacket& plain, PlainHop& form,
                                                     const PlainWay& way, ServingLink& serving,
                                                     Credits credits, std::int64_t start) {
  const std::int64_t serialisation = serving.serve(form, start);
  if (credits.gate != nullptr) {
    const ResourceId held_up = credits.gate->take(plain.ready, start, form.credits);
    if (plain.ingress_units > 0) give_back(plain, form, start + serialisation, held_up);
  } else {
    if (plain.ingress_units > 0) release(plain.ingress, plain.ingress_units, start + serialisation);
    credits.watched->take(start, form.credits);
  }
  std::int64_t ready = start + serving.latency();
  if (way.last) {
    ready += serialisation + receive_latency_;
    if (way.ring == nullptr) return let_go(form, way, ready);
    ++way.entered->entered;
  } else {
    ready += std::max<std::int64_t>(0, serialisation - way.not_waited_for);
  }
  way.ring->push({ready, way.ordinal, way.hop, plain.message, kNone, way.link, form.credits});
  *way.next = std::min(*way.next, ready);
}

void Stations::cross(const WaitingPacket& plain, LinkState& link, std::int64_t start) {
  const auto hop = static_cast<std::size_t>(plain.hop);
  ServingLink serving(link);
  pass_on(plain, plain_[hop], ways_[hop], serving, credits_of(ways_[hop].link), start);
}

// What is ready in this ring sooner than in any other, as far as it is plain; `then` is told when
// each was ready and when it starts. Whether there was any.
template <typename Then>
inline bool Stations::cross_all(WaitingRing& ring, LinkState& link, Credits credits,
                                std::int64_t end, std::int64_t other_ready, Then then) {
  if (ring.ready() >= other_ready) return false;
  ServingLink serving(link);
  std::int64_t served = 0;
  std::int32_t hop = kNone;
  PlainHop* form = nullptr;
  const PlainWay* way = nullptr;
  while (ring.ready() < other_ready) {
    const std::int64_t ready = ring.ready();
    std::int64_t start = std::max(ready, serving.free());
    const WaitingPacket& plain = ring.front();
    if (start >= end || plain.packet != kNone) break;
    if (plain.hop != hop) {
      hop = plain.hop;
      form = &plain_[static_cast<std::size_t>(hop)];
      way = &ways_[static_cast<std::size_t>(hop)];
    }
    if (credits.gate != nullptr) start = credits.gate->start(start, form->credits, false);
    if (start >= end) break;
    ++served;
    pass_on(plain, *form, *way, serving, credits, start);
    ring.drop();
    then(ready, start);
  }
  engine_.events_ += served;
  return served > 0;
}

// Data of a NIC that asks for nothing but plain packets meanwhile, as far as they are plain
// themselves.
void Stations::leave_plainly(Nic& nic, std::int64_t end) {
  if (nic.data.ready() >= end) return;
  Injector& sender = transport_.injectors_[static_cast<std::size_t>(nic.links.injector)];
  streams_.clear();
  for (const std::int32_t pair : sender.active) {
    streams_.push_back(stream_of(transport_.queue_pairs_[static_cast<std::size_t>(pair)].head));
    streams_.back().left = plain_left(*streams_.back().message);
  }
  LinkState& out = *nic.out;
  const std::int64_t others = std::min(nic.credits.ready(), nic.acknowledgements.ready());
  const std::int64_t payload = packet_payload_;
  const std::int64_t fits = streams_.empty() ? INT64_MIN : sender.buffer - payload;
  std::int64_t buffered = sender.buffered;
  Stream* const last = streams_.data() + streams_.size();
  Stream* next = streams_.data();
  const auto ask_for_next = [&](std::int64_t ready, std::int64_t start) {
    if (out.backlog_since < 0 && ready < start) out.backlog_since = ready;
    buffered -= payload;
    while (buffered <= fits || (buffered <= 0 && fits != INT64_MIN)) {
      GRADHAUL_ASSERT(next->left > 0, "windows end before what is not plain");
      --next->left;
      buffered += payload;
      ask(nic, *next, start);
      if (++next == last) next = streams_.data();
    }
    note_backlog(out, std::min(nic.data.ready(), others), start);
  };
  cross_all(nic.data, out, credits_of(nic.links.out), end, others, ask_for_next);
  sender.buffered = buffered;
  std::rotate(sender.active.begin(), sender.active.begin() + (next - streams_.data()),
              sender.active.end());
}

std::int64_t Stations::step_out(Nic& nic, std::int64_t end) {
  while (true) {
    leave_plainly(nic, end);
    std::int64_t out = nic.out_start();
    if (nic.gate != nullptr && out < end) {
      out = start_for_credits(*nic.gate, nic.first_out().front(), out);
      if (out == INT64_MAX) return std::min(end, nic.gate->unknown_from());
    }
    if (out >= end) return end;
    engine_.now_ = out;
    ++engine_.events_;
    leave_nic(nic, out);
  }
}

// The request starts, and all that follows up to the packet's being ready before the wire.
[[gnu::always_inline]] inline void Stations::read(Nic& nic, Stream& stream, ServingLink& up,
                                                  ServingLink& answer, std::int64_t start) {
  const std::int64_t asking = up.serve(*stream.request, start);
  nic.requests_under_way.take(start, stream.request->units, asking);

  const std::int64_t ready = start + asking + nic.up_latency + read_latency_;
  const std::int64_t leaves = std::max(ready, answer.free());
  nic.answer->backlog_total += leaves - std::min(leaves, std::max(ready, answer.last_start()));
  const std::int64_t answering = answer.serve(*stream.completion, leaves);
  ++stream.completion->entered;
  if (!nic.answers_under_way.leaves_out()) {
    nic.answers_under_way.take(leaves, stream.completion->units, answering);
  }

  ++stream.wire->entered;
  stream.message->sent += packet_payload_;
  nic.data.push_behind({leaves + answering + nic.answer_latency + transmit_latency_,
                        stream.lane->wire_ordinal, stream.lane->wire, stream.index});
}

// Into the GPU's memory. Nobody waits for it.
[[gnu::always_inline]] inline void Stations::write(Nic& nic, const WaitingPacket& plain,
                                                   ServingLink& up, std::int64_t start) {
  PlainHop& form = plain_[static_cast<std::size_t>(plain.hop)];
  const std::int64_t serialisation = up.serve(form, start);
  if (!nic.writes_under_way.leaves_out()) {
    nic.writes_under_way.take(start, form.units, serialisation);
    if (form.units > nic.whole_writes) throw EventsNeeded{};
  }
  if (waits_) {
    if (plain.ingress_units > 0) give_back(plain, form, start + serialisation, kNoResource);
    return;
  }
  release(plain.ingress, plain.ingress_units, start + serialisation);
}

void Stations::leave_up(Nic& nic, std::int64_t start) {
  WaitingRing& ring = nic.writes.before(nic.requests) ? nic.writes : nic.requests;
  const bool request = &ring == &nic.requests;
  const WaitingPacket waiting = ring.pop();
  if (waiting.packet != kNone) {
    Packet packet = take(waiting);
    return leave_up(nic, packet, request, start);
  }
  ServingLink up(*nic.up);
  if (!request) return write(nic, waiting, up, start);
  ServingLink answer(*nic.answer);
  Stream stream = stream_of(waiting.message);
  read(nic, stream, up, answer, start);
}

void Stations::step_up(Nic& nic, std::int64_t end) {
  if (nic.up != nullptr) leave_up_plainly(nic, end);
  while (nic.up_start() < end) {
    engine_.now_ = nic.up_start();
    ++engine_.events_;
    leave_up(nic, engine_.now_);
    leave_up_plainly(nic, end);
  }
  pause(nic, end);
}

// As far as they are plain.
void Stations::leave_up_plainly(Nic& nic, std::int64_t end) {
  ServingLink up(*nic.up);
  std::optional<ServingLink> answer;
  if (nic.answer != nullptr) answer.emplace(*nic.answer);
  streams_.clear();
  while (true) {
    const bool writes = nic.writes.before(nic.requests);
    WaitingRing& ring = writes ? nic.writes : nic.requests;
    const std::int64_t start = std::max(ring.ready(), up.free());
    if (start >= end) return;
    const WaitingPacket& first = ring.front();
    if (first.packet != kNone) return;
    ++engine_.events_;
    if (writes) {
      write(nic, first, up, start);
    } else {
      read(nic, known_stream(first.message), up, *answer, start);
    }
    ring.drop();
  }
}

std::int64_t Stations::step(Wire& wire, std::int64_t come, std::int64_t end) {
  const Credits credits = credits_of(wire.link);
  const auto check_wait = [&](std::int64_t ready, std::int64_t start) {
    if (start - ready > wire.longest_wait) throw EventsNeeded{};
  };
  std::int64_t reached = 0;
  while (true) {
    WaitingRing* first = wire.rings.front();
    std::int64_t other_ready = come;
    for (std::size_t i = 1; i < wire.rings.size(); ++i) {
      WaitingRing* other = wire.rings[i];
      if (other->before(*first)) std::swap(first, other);
      other_ready = std::min(other_ready, other->ready());
    }
    if (cross_all(*first, *wire.state, credits, end, other_ready, check_wait)) continue;
    *wire.next = std::max(first->ready(), wire.state->free);
    reached = std::max(come, wire.state->free);
    if (first->ready() >= come) break;
    std::int64_t next = reached = *wire.next;
    if (wire.gate != nullptr && next < end) {
      next = start_for_credits(*wire.gate, first->front(), next);
      reached = next == INT64_MAX ? wire.gate->unknown_from() : next;
    }
    if (next >= end) break;
    const WaitingPacket waiting = first->pop();
    check_wait(waiting.ready, next);
    ++engine_.events_;
    if (waiting.packet == kNone) {
      cross(waiting, *wire.state, next);
    } else {
      Packet packet = take(waiting);
      cross(packet, wire.link, next);
    }
  }
  reached = std::min(end, reached);
  look_ahead(wire, reached);
  return reached;
}

// What has been served by a hop, in all that the engine and the transport count.
void Stations::settle(std::int32_t number) {
  PlainHop& plain = plain_[static_cast<std::size_t>(number)];
  if (plain.entered > 0) {
    engine_.flows_[static_cast<std::size_t>(plain.flow)].next_sequence +=
        std::exchange(plain.entered, 0);
  }
  const std::int64_t served = std::exchange(plain.served, 0);
  if (served == 0) return;
  PacketEngine::FlowHop& hop = engine_.hops_[static_cast<std::size_t>(number)];
  hop.last_sequence += served;
  LinkState& link = engine_.link_state(hop.link);
  link.digest.count += served;
  link.payload_total += served * plain.payload;
  engine_.packet_hops_ += served * plain.hops;
  engine_.payload_sent_ += served * plain.sent * plain.payload;
  engine_.payload_delivered_ += served * plain.delivered * plain.payload;
  transport_.packets_ += served * plain.packets;
}

}  // namespace gradhaul
