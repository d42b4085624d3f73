// Reliable queue pairs in the simulated NICs, where packets may be lost: see
// sim/queue_pair_recovery.h for their rules.

#include <algorithm>

#include "core/infiniband_framing.h"
#include "core/packet_loss.h"
#include "core/receive_queue.h"
#include "sim/packet_transport.h"
#include "sim/receive_wiring.h"

namespace gradhaul {

void PacketTransport::add_recoveries(const Wiring& wiring) {
  const Cluster& cluster = context_.fabric.cluster();
  if (recoveries_.empty() && !numbers_packets(cluster) && !lacks_receives(wiring)) return;
  const NicModel& nic = node_.nic;
  tells_gaps_ = tells_gaps(cluster);
  keeps_early_ = !tells_gaps_ || nic.retransmission == Retransmission::kSelectiveRepeat;
  recoveries_.resize(queue_pairs_.size());
  recovery_counts_.resize(injectors_.size());
  for (const WiredConnection& wired : wiring.connections) {
    for (const Path* path : {&wired.data, &wired.credit}) {
      for (int pair = 0; pair < path->queue_pairs; ++pair) {
        QueuePairRecovery& added =
            recoveries_[static_cast<std::size_t>(path->first_queue_pair + pair)];
        added.patience = ack_timeout(path->timeout);
        added.retry = path->retry;
        added.posted = path->receives;
        added.rnr_patience = rnr_timer(path->rnr_timer).ps;
        added.rnr_retry = path->rnr_retry;
      }
    }
  }
}

// The NIC knows of the message. What it met until then is settled, however often it is sent.
void PacketTransport::number_packets(std::int32_t index) {
  Message& ready = message(index);
  if (!numbers(path_of(ready))) return;
  QueuePairRecovery& pair = recovery_of(ready);
  const std::int32_t mtu =
      injectors_[static_cast<std::size_t>(path_of(ready).injector)].packet_payload;
  ready.packets = ready.credit ? 1 : (ready.amount + mtu - 1) / mtu;
  ready.first_packet = pair.next;
  pair.next += ready.packets;
  // What sockets have sent does not wait here to be acknowledged: nothing of it is lost.
  if (cores_) return;
  ready.resent_before = pair.resent;
  ready.timed_out_before = pair.timed_out;
  ready.not_ready_before = pair.not_ready;
  if (!pair.messages.empty()) message(pair.messages.back()).next = index;
  pair.messages.push_back(index);
  Trace& parts = context_.engine.trace(ready.trace);
  if (ready.credit) blame_slot(parts);
  const ChainId chain = context_.blame.extend(ready.chain, parts);
  context_.blame.let_go(ready.chain);
  ready.chain = chain;
  ready.posted = context_.engine.now();
  parts.count = 0;
}

void PacketTransport::note_begun(const Message& sending, std::int64_t now) {
  if (cores_) return;
  const std::int32_t mtu =
      injectors_[static_cast<std::size_t>(path_of(sending).injector)].packet_payload;
  if (sending.asked % mtu != 0) return;
  QueuePairRecovery& pair = recovery_of(sending);
  const std::int32_t number = sending.first_packet + sending.asked / mtu;
  if (sending.repeats != kNone) {
    if (number >= pair.acknowledged) {
      pair.asked_at[static_cast<std::size_t>(number - pair.acknowledged)] = now;
    }
    return;
  }
  GRADHAUL_ASSERT(pair.begun() == number, "packets are begun in the order of their numbers");
  pair.asked_at.push_back(now);
}

void PacketTransport::note_on_wire(Message& sending, Packet& packet, std::int64_t ready) {
  QueuePairRecovery& pair = recovery_of(sending);
  const Path& path = path_of(sending);
  const Injector& injector = injectors_[static_cast<std::size_t>(path.injector)];
  packet.asked = sending.first_packet + sending.sent / injector.packet_payload;
  if (sending.repeats != kNone) packet.message = sending.repeats;
  ++message(packet.message).holders;
  if (packet.asked < pair.furthest) ++counts_at(path.injector).retransmitted;
  pair.furthest = std::max(pair.furthest, packet.asked + 1);
  if (cores_ || pair.deadline != INT64_MAX || pair.resting) return;
  watch_timer(path.first_queue_pair + sending.queue_pair, ready);
}

// As a receiver: false where the packet is not the next one.
bool PacketTransport::take_in_order(const Packet& packet, std::int64_t arrived) {
  Message& incoming = message(packet.message);
  QueuePairRecovery& pair = recovery_of(incoming);
  if (packet.asked != pair.expected) {
    const bool gap = packet.asked > pair.expected;
    if (gap) {
      ++counts_at(receiving_injector(path_of(incoming))).out_of_sequence;
      if (!pair.told) answer(incoming, true, arrived);
      pair.told = true;
    } else if (packet.last_of_message) {
      answer(incoming, false, arrived);
    }
    drop_packet(packet, arrived);
    return false;
  }
  if (!takes_receive(packet, arrived)) {
    pair.told = true;
    drop_packet(packet, arrived);
    return false;
  }
  ++pair.expected;
  pair.told = false;
  pair.accepted += packet.payload;
  if (!packet.last_of_message) return true;
  incoming.landed = true;
  if (incoming.trace != packet.trace) {
    // It was sent again without need: by now that is on its way with a trace of its own, or not.
    if (!all_asked(incoming)) context_.engine.drop_trace(incoming.trace);
    incoming.trace = packet.trace;
  }
  return true;
}

void PacketTransport::drop_packet(const Packet& packet, std::int64_t arrived) {
  context_.engine.release(packet, arrived, path_of(message(packet.message)).receiver);
  settle_trace(packet);
  let_go(packet.message);
}

void PacketTransport::on_loss(const Packet& packet, LinkId link) {
  switch (static_cast<FlowKind>(context_.engine.kind(packet.flow))) {
    case FlowKind::kWire:
      recovery_of(message(packet.message)).lost_on = link;
      settle_trace(packet);
      return let_go(packet.message);
    case FlowKind::kAcknowledge:
      recoveries_[static_cast<std::size_t>(packet.message)].lost_on = link;
      return;
    default:
      return;
  }
}

void PacketTransport::answer(const Message& incoming, bool negative, std::int64_t time) {
  send_answer(incoming, {recovery_of(incoming).expected, negative}, time);
}

void PacketTransport::send_answer(const Message& incoming, const QueuePairRecovery::Answer& answer,
                                  std::int64_t time) {
  const Path& path = path_of(incoming);
  const std::int32_t number = path.first_queue_pair + incoming.queue_pair;
  if (path.flow(FlowKind::kAcknowledge) == kNone) {
    recovery_of(incoming).answers.push_back(answer);
    context_.engine.schedule(time, static_cast<std::uint32_t>(RunEvent::kAnswered), number, number);
    return;
  }
  Packet sent;
  sent.message = number;
  sent.asked = answer.expected;
  sent.negative = answer.negative;
  sent.missing = static_cast<std::int16_t>(answer.not_ready ? kNotReadyAnswer : answer.missing);
  sent.extra = kAethBytes.count;
  context_.engine.send(path.flow(FlowKind::kAcknowledge, incoming.queue_pair), sent, time);
}

// As a sender.
void PacketTransport::answered(std::int32_t queue_pair) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  const QueuePairRecovery::Answer heard = pair.answers.front();
  pair.answers.pop_front();
  const std::int64_t now = context_.engine.now();
  const std::int32_t injector = queue_pairs_[static_cast<std::size_t>(queue_pair)].injector;
  if (heard.missing > 0) {
    ++counts_at(injector).packet_seq_err;
    return repeat(queue_pair, heard.expected, heard.missing);
  }
  if (heard.expected > pair.acknowledged) {
    const bool ahead = heard.expected > pair.begun();
    const std::int32_t known = std::min(heard.expected, pair.begun()) - pair.acknowledged;
    pair.asked_at.erase(pair.asked_at.begin(), pair.asked_at.begin() + known);
    pair.acknowledged = heard.expected;
    pair.tries = pair.rnr_tries = 0;
    while (!pair.messages.empty()) {
      const std::int32_t first = pair.messages.front();
      const Message& oldest = message(first);
      if (oldest.first_packet + oldest.packets > pair.acknowledged) break;
      event_for(first, oldest.credit ? RunEvent::kCreditDone : RunEvent::kDataDone,
                now + node_.nic.completion.ps);
      pair.messages.pop_front();
    }
    // It had begun again, and need not have.
    if (ahead) send_from(queue_pair, pair.acknowledged);
    pair.deadline = INT64_MAX;
    if (!pair.asked_at.empty() && !pair.resting) watch_timer(queue_pair, now);
    if (ahead) transmit(injector);
  }
  if (heard.not_ready) return wait_for_receive(queue_pair, heard.expected);
  if (!heard.negative) return;
  ++counts_at(injector).packet_seq_err;
  if (heard.expected == pair.acknowledged && !pair.asked_at.empty()) {
    try_again(queue_pair, Cause::kResent);
  }
}

void PacketTransport::watch_timer(std::int32_t queue_pair, std::int64_t from) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  if (pair.patience == INT64_MAX) return;
  pair.deadline = from + pair.patience;
  if (pair.wake <= pair.deadline) return;
  pair.wake = pair.deadline;
  context_.engine.schedule(pair.wake, static_cast<std::uint32_t>(RunEvent::kAckTimeout), queue_pair,
                           queue_pair);
}

void PacketTransport::timer_ran(std::int32_t queue_pair) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  pair.wake = INT64_MAX;
  if (pair.asked_at.empty()) pair.deadline = INT64_MAX;
  if (pair.deadline == INT64_MAX) return;
  if (context_.engine.now() < pair.deadline) {
    return watch_timer(queue_pair, pair.deadline - pair.patience);
  }
  ++counts_at(queue_pairs_[static_cast<std::size_t>(queue_pair)].injector).local_ack_timeout_err;
  try_again(queue_pair, Cause::kAckTimeout);
}

void PacketTransport::try_again(std::int32_t queue_pair, Cause cause) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  if (++pair.tries > pair.retry) give_up(queue_pair, pair.patience, pair.retry, false);
  begin_again(queue_pair, cause);
}

// With the first packet that is not acknowledged; what that has taken so far was in vain.
void PacketTransport::begin_again(std::int32_t queue_pair, Cause cause) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  const std::int64_t lost = context_.engine.now() - pair.asked_at.front();
  (cause == Cause::kResent     ? pair.resent
   : cause == Cause::kNotReady ? pair.not_ready
                               : pair.timed_out) += lost;
  pair.deadline = INT64_MAX;
  if (keeps_early_) {
    return repeat(queue_pair, pair.acknowledged, pair.furthest - pair.acknowledged);
  }
  send_from(queue_pair, pair.acknowledged);
  transmit(queue_pairs_[static_cast<std::size_t>(queue_pair)].injector);
}

void PacketTransport::give_up(std::int32_t queue_pair, std::int64_t patience, int retry,
                              bool not_ready) const {
  const QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  const Message& stuck = message(pair.messages.front());
  const SimulatedConnection& connection = connection_of(stuck);
  const Path& path = path_of(stuck);
  const auto name = [](int node, int nic) {
    return "node" + std::to_string(node) + ".nic" + std::to_string(nic);
  };
  throw RetriesExceeded{connection.wires.sent_as,
                        stuck.credit,
                        stuck.queue_pair,
                        name(path.injector / node_.nic_count, path.injector % node_.nic_count),
                        name(path.destination_gpu / node_.gpu_count, path.destination_nic),
                        retry,
                        patience,
                        pair.lost_on,
                        connection.first_port,
                        not_ready};
}

// The next packet of the queue pair is `number`, which is not acknowledged.
void PacketTransport::send_from(std::int32_t queue_pair, std::int32_t number) {
  QueuePairRecovery& pair = recoveries_[static_cast<std::size_t>(queue_pair)];
  QueuePair& queue = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  Injector& injector = injectors_[static_cast<std::size_t>(queue.injector)];
  for (const std::int32_t index : pair.messages) {
    Message& again = message(index);
    if (again.first_packet >= pair.begun() && again.first_packet >= number) break;
    if (all_asked(again) && !again.landed) again.trace = context_.engine.add_trace();
    const std::int32_t here = again.stale == 0 ? again.gathered : 0;
    injector.buffered -= here;
    again.stale += again.asked - again.sent - here;
    if (again.stale == 0) again.gathered = 0;
    again.sent = std::max(0, number - again.first_packet) * injector.packet_payload;
    again.asked = again.sent;
  }
  pair.asked_at.resize(static_cast<std::size_t>(number - pair.acknowledged));
  const bool was_active = queue.head != kNone;
  queue.head = pair.messages.empty() ? kNone : pair.messages.front();
  queue.tail = pair.messages.empty() ? kNone : pair.messages.back();
  if (!was_active && queue.head != kNone) injector.active.push_back(queue_pair);
  if (was_active && queue.head == kNone) std::erase(injector.active, queue_pair);
}

// What a read brings that is not wanted any more.
void PacketTransport::throw_away(std::int32_t index, const Packet& packet, std::int64_t delivered) {
  Message& sending = message(index);
  const std::int32_t number = path_of(sending).injector;
  sending.stale -= packet.payload;
  if (packet.last_part || sending.stale == 0) sending.gathered = 0;
  injectors_[static_cast<std::size_t>(number)].buffered -= packet.payload;
  if (packet.trace != kNone) context_.engine.drop_trace(packet.trace);
  wake(number, delivered);
  end_reading(index);
}

// A message is known as long as anything of it is read.
void PacketTransport::begin_reading(Message& asking) {
  if (asking.reading || !numbers(path_of(asking))) return;
  asking.reading = true;
  ++asking.holders;
}

void PacketTransport::end_reading(std::int32_t index) {
  Message& asking = message(index);
  if (!asking.reading || asking.stale > 0 || asking.asked > asking.sent + asking.gathered) return;
  asking.reading = false;
  let_go(index);
}

// What of a wait in the NIC losses have brought about, whose parts are added; how much that is.
std::int64_t PacketTransport::blame_losses(Message& sending, std::int64_t waited) {
  const QueuePairRecovery& pair = recovery_of(sending);
  Trace& parts = context_.engine.trace(sending.trace);
  const ResourceId culprit = pair.lost_on == kNoLink ? path_of(sending).sender
                                                     : context_.fabric.link(pair.lost_on).resource;
  const std::int64_t timed_out = std::min(waited, pair.timed_out - sending.timed_out_before);
  const std::int64_t not_ready =
      std::min(waited - timed_out, pair.not_ready - sending.not_ready_before);
  const std::int64_t resent =
      std::min(waited - timed_out - not_ready, pair.resent - sending.resent_before);
  parts.add(culprit, Cause::kAckTimeout, timed_out);
  parts.add(path_of(sending).receiver, Cause::kNotReady, not_ready);
  parts.add(culprit, resent_cause(pair), resent);
  return timed_out + not_ready + resent;
}

// Whatever the way back of a slot met, what waits for it waits for a slot; unless it was lost.
void PacketTransport::blame_slot(Trace& parts) {
  std::int64_t waited = 0;
  int kept = 0;
  for (int i = 0; i < parts.count; ++i) {
    const TracePart part = parts.parts[static_cast<std::size_t>(i)];
    if (part.cause == Cause::kAckTimeout || part.cause == Cause::kResent ||
        part.cause == Cause::kMistaken || part.cause == Cause::kNotReady) {
      parts.parts[static_cast<std::size_t>(kept++)] = part;
    } else {
      waited += part.ps;
    }
  }
  parts.count = kept;
  parts.add(kNoResource, Cause::kSlots, waited);
}

// Of NICs: what GPUs write to each other through PCIe has no numbers.
bool PacketTransport::all_accepted() const {
  const int nics = context_.fabric.cluster().nodes * node_.nic_count;
  for (std::size_t i = 0; i < recoveries_.size(); ++i) {
    if (queue_pairs_[i].injector >= nics) continue;
    if (recoveries_[i].accepted != queue_pairs_[i].payload) return false;
  }
  return true;
}

}  // namespace gradhaul
