// What stations do with plain packets (sim/plain_hop.h), which the transport has not got to see.

#include <algorithm>

#include "sim/packet_transport.h"
#include "sim/stations.h"

namespace gradhaul {

// The NIC asks for as many packets as its buffer takes: for plain ones here, else as the transport
// does.
void Stations::transmit(Nic& nic, std::int64_t now) {
  Injector& sender = transport_.injectors_[static_cast<std::size_t>(nic.links.injector)];
  while (!sender.active.empty()) {
    const std::int32_t pair = sender.active.front();
    const std::int32_t index = transport_.queue_pairs_[static_cast<std::size_t>(pair)].head;
    Message& sending = transport_.messages_[static_cast<std::size_t>(index)];
    const PlainLane& lane = lanes_[static_cast<std::size_t>(sending.wire)];
    const bool plain = !sending.credit && sending.asked > 0 &&
                       sending.amount - sending.asked > packet_payload_ && lane.wire != kNone;
    if (!plain) {
      if (!transport_.transmit_next(nic.links.injector)) return;
      continue;
    }
    if (sender.buffered > 0 && sender.buffered + packet_payload_ > sender.buffer) return;
    if (sender.active.size() > 1) {
      std::rotate(sender.active.begin(), sender.active.begin() + 1, sender.active.end());
    }
    sending.asked += packet_payload_;
    sender.buffered += packet_payload_;
    ++engine_.flows_[static_cast<std::size_t>(lane.request_flow)].next_sequence;
    const std::int32_t ordinal = engine_.hops_[static_cast<std::size_t>(lane.request)].ordinal;
    nic.requests.push({now, ordinal, lane.request, index});
  }
}

// The request starts, and all that follows up to the packet's being ready before the wire.
void Stations::read(Nic& nic, std::int32_t index, std::int64_t start) {
  Message& sending = transport_.messages_[static_cast<std::size_t>(index)];
  const PlainLane& lane = lanes_[static_cast<std::size_t>(sending.wire)];
  PlainHop& request = plain_[static_cast<std::size_t>(lane.request)];
  const std::int64_t asking = request.serve(*nic.up, start);
  nic.requests_under_way.take(start, request.units, asking);

  const std::int64_t ready = start + asking + nic.up_latency + read_latency_;
  LinkState& link = *nic.answer;
  const std::int64_t leaves = std::max(ready, link.free);
  link.backlog_total += leaves - std::min(leaves, std::max(ready, link.digest.last_start));
  PlainHop& completion = plain_[static_cast<std::size_t>(lane.completion)];
  const std::int64_t answering = completion.serve(link, leaves);
  ++engine_.flows_[static_cast<std::size_t>(lane.completion_flow)].next_sequence;
  nic.answers_under_way.take(leaves, completion.units, answering);

  ++engine_.flows_[static_cast<std::size_t>(lane.wire_flow)].next_sequence;
  sending.sent += packet_payload_;
  nic.data.push({leaves + answering + nic.answer_latency + transmit_latency_,
                 engine_.hops_[static_cast<std::size_t>(lane.wire)].ordinal, lane.wire, index});
}

// Over a wire of the network, from the buffer before it into the one behind.
void Stations::cross(const WaitingPacket& plain, LinkState& link, std::int64_t start) {
  const auto hop = static_cast<std::size_t>(plain.hop);
  PlainHop& form = plain_[hop];
  const PlainWay& way = ways_[hop];
  const std::int64_t serialisation = form.serve(link, start);
  if (plain.ingress_units > 0) release(plain.ingress, plain.ingress_units, start + serialisation);
  credits_[static_cast<std::size_t>(way.link)].take(start, form.credits);
  std::int64_t ready = start + link.latency;
  if (way.last) {
    ready += serialisation + receive_latency_;
    ++engine_.flows_[static_cast<std::size_t>(way.flow)].next_sequence;
  } else {
    ready += std::max<std::int64_t>(0, serialisation - way.not_waited_for);
  }
  way.ring->push({ready, way.ordinal, way.hop, plain.message, kNone, way.link, form.credits});
  *way.next = std::min(*way.next, ready);
}

// Into the GPU's memory. Nobody waits for it.
void Stations::write(Nic& nic, const WaitingPacket& plain, std::int64_t start) {
  PlainHop& form = plain_[static_cast<std::size_t>(plain.hop)];
  const std::int64_t serialisation = form.serve(*nic.up, start);
  nic.writes_under_way.take(start, form.units, serialisation);
  if (form.units > nic.whole_writes) throw CreditsRanOut{};
  release(plain.ingress, plain.ingress_units, start + serialisation);
}

// What has been served by a hop, in all that the engine and the transport count.
void Stations::settle(std::int32_t number) {
  PlainHop& plain = plain_[static_cast<std::size_t>(number)];
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
  if (plain.sent == 2) transport_.packets_ += served;
}

}  // namespace gradhaul
