// Queue pairs whose receiver keeps what comes early: see sim/queue_pair_recovery.h for their rules.
//
// What is sent again is a message of its own to the sending NIC, of packets of another one, which
// it stands before in its queue pair and reads anew. To the receiver it is the other one.
//
// A message has one trace, which its last packet takes along when it is first sent, wherever that
// ends. If others come later, what is missing of its time is put down to why they did.

#include <algorithm>

#include "sim/packet_transport.h"
#include "sim/run_observation.h"

namespace gradhaul {

// As a receiver: a packet, whether it is the next one or not.
void PacketTransport::take_early(const Packet& packet, std::int64_t delivered,
                                 std::int64_t arrived) {
  if (!note_early(packet, arrived)) return drop_packet(packet, arrived);
  Message& incoming = message(packet.message);
  if (context_.observation != nullptr && !incoming.credit) {
    context_.observation->on_landed(whole_of(packet.message), delivered);
  }
  recovery_of(incoming).accepted += packet.payload;
  if (packet.trace != kNone) {
    context_.engine.trace(packet.trace)
        .add(path_of(incoming).receiver, Cause::kLatency, node_.nic.receive_latency.ps);
  }
  settle_trace(packet);
  Packet taken = packet;
  taken.last_of_message = ++incoming.come == incoming.packets;
  taken.trace = kNone;
  if (taken.last_of_message) {
    complete(packet, arrived);
    taken.trace = incoming.trace;
  }
  take(taken, arrived);
  let_go(packet.message);
}

// False where it has come before. A whole message that has is acknowledged once more.
bool PacketTransport::note_early(const Packet& packet, std::int64_t arrived) {
  const Message& incoming = message(packet.message);
  QueuePairRecovery& pair = recovery_of(incoming);
  const std::int32_t ahead = packet.asked - pair.expected;
  const auto place = static_cast<std::size_t>(ahead);
  if (ahead < 0 || (place < pair.early.size() && pair.early[place])) {
    if (incoming.landed && packet.last_of_message) answer(incoming, false, arrived);
    return false;
  }
  // What comes behind one that was told to come again comes again with it.
  if (pair.lacking != kNone && packet.asked > pair.lacking) return false;
  if (!takes_receive(packet, arrived)) return false;
  if (ahead > 0 && tells_gaps_) note_gap(packet, arrived);
  if (place >= pair.early.size()) pair.early.resize(place + 1, false);
  pair.early[place] = true;
  while (!pair.early.empty() && pair.early.front()) {
    pair.early.pop_front();
    ++pair.expected;
  }
  return true;
}

// Of a packet that comes behind a gap: if that is new, which packets are missing.
void PacketTransport::note_gap(const Packet& packet, std::int64_t arrived) {
  const Message& incoming = message(packet.message);
  const QueuePairRecovery& pair = recovery_of(incoming);
  ++counts_at(receiving_injector(path_of(incoming))).out_of_sequence;
  constexpr std::int32_t kMost = INT16_MAX;
  std::int32_t first = pair.expected + static_cast<std::int32_t>(pair.early.size());
  for (; first < packet.asked; first += kMost) {
    send_answer(incoming, {first, true, std::min(packet.asked - first, kMost)}, arrived);
  }
}

// The trace has come back to its message, or that has another one by now.
void PacketTransport::settle_trace(const Packet& packet) {
  if (packet.trace == kNone) return;
  Message& of = message(packet.message);
  if (of.trace_away && of.trace == packet.trace) {
    of.trace_away = false;
  } else {
    context_.engine.drop_trace(packet.trace);
  }
}

// `last`: the packet that was missing last.
void PacketTransport::complete(const Packet& last, std::int64_t arrived) {
  Message& whole = message(last.message);
  whole.landed = true;
  if (whole.trace_away) {
    // What was sent again has overtaken it.
    whole.trace = context_.engine.add_trace();
    whole.trace_away = false;
  }
  const std::int64_t known = context_.engine.trace(whole.trace).total();
  blame_late(whole, last, arrived - whole.posted - known);
}

// Why it came so much later than the last packet of its message.
void PacketTransport::blame_late(const Message& late, const Packet& last, std::int64_t waited) {
  const QueuePairRecovery& pair = recovery_of(late);
  Trace& parts = context_.engine.trace(late.trace);
  const ResourceId culprit =
      pair.lost_on == kNoLink ? path_of(late).sender : context_.fabric.link(pair.lost_on).resource;
  const std::int64_t timed_out = std::min(waited, pair.timed_out - late.timed_out_before);
  const std::int64_t not_ready =
      std::min(waited - timed_out, pair.not_ready - late.not_ready_before);
  const std::int64_t rest = waited - timed_out - not_ready;
  parts.add(culprit, Cause::kAckTimeout, timed_out);
  parts.add(path_of(late).receiver, Cause::kNotReady, not_ready);
  if (tells_gaps_) return parts.add(culprit, resent_cause(pair), rest);
  const Link& way = context_.fabric.link(context_.engine.link_before_last(last));
  parts.add(way.resource, Cause::kReordered, rest);
}

// As a sender: packets from `first` on, which have all been on the wire.
void PacketTransport::repeat(std::int32_t queue_pair, std::int32_t first, std::int32_t count) {
  const QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  const std::int32_t from = std::max(first, pair.acknowledged);
  const std::int32_t end = first + count;
  std::vector<std::int32_t> added;
  for (const std::int32_t index : pair.messages) {
    const Message& whole = message(index);
    const std::int32_t behind = whole.first_packet + whole.packets;
    if (whole.first_packet >= end) break;
    if (behind <= from) continue;
    added.push_back(add_repeat(index, std::max(from, whole.first_packet), std::min(end, behind)));
  }
  if (added.empty()) return;
  QueuePair& queue = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  if (queue.head == kNone) {
    queue.tail = added.back();
    if (!pair.resting) activate(queue_pair);
  }
  for (auto again = added.rbegin(); again != added.rend(); ++again) {
    message(*again).next = queue.head;
    queue.head = *again;
  }
  transmit(queue.injector);
}

std::int32_t PacketTransport::add_repeat(std::int32_t of, std::int32_t first, std::int32_t end) {
  const std::int32_t index = take_message();
  Message& again = message(index);
  Message& whole = message(of);
  const std::int32_t mtu =
      injectors_[static_cast<std::size_t>(path_of(whole).injector)].packet_payload;
  again.connection = whole.connection;
  again.credit = whole.credit;
  again.queue_pair = whole.queue_pair;
  again.first_packet = first;
  again.packets = end - first;
  again.repeats = of;
  again.landed = true;  // it takes no trace along
  const std::int32_t begin = (first - whole.first_packet) * mtu;
  again.amount = whole.credit ? whole.amount
                              : std::min(whole.amount, (end - whole.first_packet) * mtu) - begin;
  again.holders = 1;  // until all of it is on the wire
  ++whole.holders;
  ++connection_of(again).outstanding;
  return index;
}

void PacketTransport::end_repeat(std::int32_t index) {
  let_go(message(index).repeats);
  let_go(index);
}

}  // namespace gradhaul
