// The receiving half of PacketTransport: from the far end of a route to completions.

#include "core/infiniband_framing.h"
#include "core/protocol.h"
#include "sim/packet_transport.h"
#include "sim/port_observation.h"
#include "sim/run_observation.h"

namespace gradhaul {

void PacketTransport::on_delivery(const Packet& packet, std::int64_t delivered) {
  switch (static_cast<FlowKind>(context_.engine.kind(packet.flow))) {
    case FlowKind::kReadRequest:
      return payload_asked(packet, delivered);
    case FlowKind::kCompletion:
      return payload_in_nic(packet, delivered);
    case FlowKind::kWire:
      return received(packet, delivered);
    case FlowKind::kWrite:
      return written(packet, delivered);
    case FlowKind::kAcknowledge:
      return acknowledged(packet, delivered);
    case FlowKind::kPeer:
      return peer_delivered(packet, delivered);
    case FlowKind::kRelay:
      return relayed(packet, delivered);
    case FlowKind::kNotify:
      // It names a queue pair, not a message.
      context_.engine.schedule(delivered + node_.nic.receive_latency.ps,
                               static_cast<std::uint32_t>(RunEvent::kNotified), packet.message,
                               packet.message);
      return;
    case FlowKind::kCopyOut:
      return copied_out(packet, delivered);
    case FlowKind::kCopyRequest:
      return copy_asked(packet, delivered);
    case FlowKind::kCopyIn:
      return copied_in(packet, delivered);
    case FlowKind::kSendCopy:
    case FlowKind::kReceiveCopy:
      return core_copied(packet, delivered);
  }
}

void PacketTransport::received(const Packet& packet, std::int64_t delivered) {
  const std::int64_t there = delivered + node_.nic.receive_latency.ps;
  const std::int64_t arrived = contexts_.empty() ? there : find_contexts_of(packet, there);
  if (packet.marked) notify(packet, arrived);
  if (path_of(message(packet.message)).receives > 0) {
    return accept_later(packet, delivered, arrived);
  }
  accept(packet, delivered, arrived);
}

// `arrived`: when the NIC looks at it.
void PacketTransport::accept(const Packet& packet, std::int64_t delivered, std::int64_t arrived) {
  const std::int64_t there = delivered + node_.nic.receive_latency.ps;
  const bool held = numbers(path_of(message(packet.message)));
  if (held && keeps_early_) return take_early(packet, delivered, arrived);
  if (held && !take_in_order(packet, arrived)) return;
  const Message& incoming = message(packet.message);
  if (context_.observation != nullptr && !incoming.credit) {
    context_.observation->on_landed(whole_of(packet.message), delivered);
  }
  if (packet.trace != kNone) {
    Trace& parts = context_.engine.trace(packet.trace);
    parts.add(path_of(incoming).receiver, Cause::kLatency, node_.nic.receive_latency.ps);
    parts.add(path_of(incoming).receiver, Cause::kContext, arrived - there);
  }
  take(packet, arrived);
  if (held) let_go(packet.message);
}

void PacketTransport::take(const Packet& packet, std::int64_t arrived) {
  const Message& incoming = message(packet.message);
  const Path& path = path_of(incoming);
  PacketEngine& engine = context_.engine;
  if (cores_) {
    tcp_acknowledge(packet, arrived);
  } else if (packet.last_of_message) {
    acknowledge(packet, arrived);
  }
  const bool no_pcie = incoming.credit || engine.length(path.flow(FlowKind::kWrite)) == 0;
  // Of the wire it came by, counted from whoever posted.
  const Copies& copies = engine.copies();
  const int ingress_copy = copies.plus(path.shift(FlowKind::kWire), packet.ingress_copy);
  if (no_pcie) {
    engine.release(packet, arrived, copies.seen(path.receiver, copies.minus(0, ingress_copy)));
  }
  if (incoming.credit && cores_) {
    message(packet.message).at_cores = arrived;
    return event_for(packet.message, RunEvent::kTcpLanded, arrived);
  }
  if (incoming.credit) {
    const std::int64_t completed = add_completion(packet, path, arrived);
    event_for(packet.message, RunEvent::kCreditArrived, completed);
    if (!incoming.arrival_turn) post_receive_again(packet.message, completed);
    return;
  }
  Packet write;
  write.message = packet.message;
  write.payload = packet.payload;
  write.trace = packet.trace;
  write.last_of_message = packet.last_of_message;
  if (!no_pcie) {
    write.ingress = packet.ingress;
    write.ingress_units = packet.ingress_units;
    write.ingress_copy = copies.minus(ingress_copy, path.shift(FlowKind::kWrite));
  }
  send(path, FlowKind::kWrite, write, arrived);
}

void PacketTransport::acknowledge(const Packet& packet, std::int64_t time) {
  const Message& incoming = message(packet.message);
  const Path& path = path_of(incoming);
  if (numbers(path)) return answer(incoming, false, time);
  if (path.flow(FlowKind::kAcknowledge) == kNone) {
    event_for(packet.message, incoming.credit ? RunEvent::kCreditDone : RunEvent::kDataDone, time);
    return;
  }
  Packet answer;
  answer.message = packet.message;
  answer.extra = kAethBytes.count;
  const FlowId flow = path.flow(FlowKind::kAcknowledge, incoming.queue_pair);
  if (context_.ports != nullptr) {
    context_.ports->on_acknowledge(packet.message, flow,
                                   path.first_queue_pair + incoming.queue_pair);
  }
  context_.engine.send(flow, answer, time);
}

void PacketTransport::acknowledged(const Packet& packet, std::int64_t delivered) {
  if (cores_) return;  // nobody waits for it
  if (!recoveries_.empty()) {
    // It names a queue pair.
    recoveries_[static_cast<std::size_t>(packet.message)].answers.push_back(
        {packet.asked, packet.negative, std::max<std::int32_t>(packet.missing, 0),
         packet.missing == kNotReadyAnswer});
    context_.engine.schedule(delivered + node_.nic.receive_latency.ps,
                             static_cast<std::uint32_t>(RunEvent::kAnswered), packet.message,
                             packet.message);
    return;
  }
  const Duration detour = path_of(message(packet.message)).source_detour;
  const std::int64_t time =
      delivered + (node_.nic.receive_latency + node_.nic.completion + detour).ps;
  event_for(packet.message,
            message(packet.message).credit ? RunEvent::kCreditDone : RunEvent::kDataDone, time);
}

// When the receiver's thread has seen the NIC's completion.
std::int64_t PacketTransport::add_completion(const Packet& packet, const Path& path,
                                             std::int64_t from) {
  Trace& parts = context_.engine.trace(packet.trace);
  parts.add(kNoResource, Cause::kCompletion, node_.nic.completion.ps);
  parts.add(path.destination_socket_link, Cause::kLatency, path.destination_detour.ps);
  return from + (node_.nic.completion + path.destination_detour).ps;
}

void PacketTransport::written(Packet packet, std::int64_t delivered) {
  if (cores_) return tcp_written(packet, delivered);
  if (!packet.last_of_message || !all_written(packet, delivered)) return;
  const Path& path = path_of(message(packet.message));
  if (path.staged_in) {
    message(packet.message).copied_out = true;
    const std::int64_t completed = add_completion(packet, path, delivered);
    if (message(packet.message).arrival_turn) {
      return event_for(packet.message, RunEvent::kDataArrived, completed);
    }
    post_receive_again(packet.message, completed);
    return start_copy(packet.message, completed);
  }
  const bool pcie = context_.engine.length(packet.flow) > 0;
  const Duration visible = pcie ? node_.gpu.write_latency : Duration{};
  Trace& parts = context_.engine.trace(packet.trace);
  parts.add(kNoResource, Cause::kLatency, visible.ps);
  std::int64_t known = delivered + visible.ps;
  // Else the kernel sees it by flags among the data.
  if (!polls_data(connection_of(message(packet.message)).protocol)) {
    known = add_completion(packet, path, known);
    Message& there = message(packet.message);
    there.to_flush = path.flush.ps > 0;
    if (!there.arrival_turn) {
      post_receive_again(packet.message, known);
      return tell_kernel(packet.message, there.to_flush ? flush(there, known) : known);
    }
  }
  if (message(packet.message).has_receive) {
    // The thread sees the completion all the same.
    post_receive_again(packet.message, known + (node_.nic.completion + path.destination_detour).ps);
  }
  event_for(packet.message, RunEvent::kDataArrived, known);
}

// The receiver's thread posts a read back at `from`: when it has seen that completed.
std::int64_t PacketTransport::flush(Message& there, std::int64_t from) {
  there.to_flush = false;
  const Duration time = path_of(there).flush;
  context_.engine.trace(there.trace).add(kNoResource, Cause::kFlush, time.ps);
  return from + time.ps;
}

// The receiver's thread knows of a message: its kernel hears of it by a flag.
void PacketTransport::tell_kernel(std::int32_t index, std::int64_t from) {
  const Path& path = path_of(message(index));
  Trace& parts = context_.engine.trace(message(index).trace);
  parts.add(kNoResource, Cause::kFlag, node_.gpu.flag_latency.ps);
  parts.add(path.destination_socket_link, Cause::kLatency, path.destination_detour.ps);
  event_for(index, RunEvent::kDataArrived,
            from + (node_.gpu.flag_latency + path.destination_detour).ps);
}

// A peer's kernel polls a flag in its own memory: no host is involved.
void PacketTransport::peer_delivered(const Packet& packet, std::int64_t delivered) {
  if (context_.observation != nullptr) context_.observation->on_landed(packet.message, delivered);
  if (!packet.last_of_message) return;
  const bool pcie = !node_.nvlink && context_.engine.length(packet.flow) > 0;
  const Duration visible = pcie ? node_.gpu.write_latency : Duration{};
  context_.engine.trace(packet.trace).add(kNoResource, Cause::kLatency, visible.ps);
  event_for(packet.message, RunEvent::kDataArrived, delivered + visible.ps);
  event_for(packet.message, RunEvent::kDataDone, delivered + visible.ps);
}

void PacketTransport::relayed(const Packet& packet, std::int64_t delivered) {
  add_post_cost(message(packet.message), delivered, packet.message);
}

void PacketTransport::on_event(RunEvent event, std::int32_t index) {
  switch (event) {
    case RunEvent::kMessageReady:
      return message_ready(index);
    case RunEvent::kDataArrived:
      return data_arrived(index);
    case RunEvent::kDataDone:
      return data_done(index);
    case RunEvent::kCreditArrived:
      return credit_arrived(index);
    case RunEvent::kCreditDone:
      return credit_done(index);
    case RunEvent::kInjectorWake:
      injectors_[static_cast<std::size_t>(index)].wake = INT64_MAX;
      return transmit(index);
    case RunEvent::kNotified:
      return heed_notification(index);
    case RunEvent::kAnswered:
      return answered(index);
    case RunEvent::kAckTimeout:
      return timer_ran(index);
    case RunEvent::kCopyReady:
      return copy_ready(index);
    case RunEvent::kCopyWake:
      copy_engines_[static_cast<std::size_t>(index)].wake = INT64_MAX;
      return copy(index);
    case RunEvent::kTcpSend:
      return tcp_send(index);
    case RunEvent::kTcpSent:
      return tcp_in_nic(index);
    case RunEvent::kTcpLanded:
      return tcp_landed(index);
    case RunEvent::kTcpReceive:
      return tcp_receive(index);
    case RunEvent::kCoreFinished:
      return core_finished(index);
    case RunEvent::kReceived:
      return accept_now(index);
    case RunEvent::kRnrTimer:
      return rnr_timer_ran(index);
    default:
      GRADHAUL_ASSERT(false, "not an event of the transport");
  }
}

void PacketTransport::data_arrived(std::int32_t index) {
  if (took_arrival_turn(index)) return;
  message(index).arrived = true;
  const std::int32_t number = message(index).connection;
  memory_.book(path_of(message(index)).destination_gpu, {message(index).amount},
               context_.engine.now());
  while (true) {
    SimulatedConnection& connection = connections_[static_cast<std::size_t>(number)];
    if (connection.arriving.empty() || !message(connection.arriving.front()).arrived) return;
    const std::int32_t first = connection.arriving.pop();
    Completion completion;
    completion.kind = CompletionKind::kWriteArrived;
    completion.id = connection.at_destination;
    completion.amount = message(first).data;
    deliver_arrival(first, completion);
  }
}

void PacketTransport::data_done(std::int32_t ended) {
  const std::int32_t index = all_ended(ended);
  if (index == kNone || took_done_turn(index)) return;
  // Its sender has known since the post.
  if (message(index).finished) return let_go(index);
  message(index).finished = true;
  const std::int32_t number = message(index).connection;
  while (true) {
    SimulatedConnection& connection = connections_[static_cast<std::size_t>(number)];
    if (connection.finishing.empty() || !message(connection.finishing.front()).finished) return;
    const std::int32_t first = connection.finishing.pop();
    Completion completion;
    completion.kind = CompletionKind::kWriteDone;
    completion.id = connection.at_source;
    completion.amount = message(first).data;
    deliver_end(first, completion);
  }
}

void PacketTransport::credit_arrived(std::int32_t index) {
  if (took_arrival_turn(index)) return;
  Completion completion;
  completion.kind = CompletionKind::kCreditArrived;
  completion.id = connection_of(message(index)).at_source;
  completion.amount = message(index).amount;
  deliver_arrival(index, completion);
}

void PacketTransport::credit_done(std::int32_t index) {
  --connection_of(message(index)).credits_in_flight;
  Completion completion;
  completion.kind = CompletionKind::kCreditDone;
  completion.id = connection_of(message(index)).at_destination;
  deliver_end(index, completion);
}

// The time since the post, in the parts that its last packet met.
void PacketTransport::deliver_arrival(std::int32_t index, const Completion& completion) {
  Message& arrived = message(index);
  Trace& parts = context_.engine.trace(arrived.trace);
  const std::int64_t rest = context_.engine.now() - arrived.posted - parts.total();
  const Path& path = path_of(arrived);
  const bool early = keeps_early_ && numbers(path);
  GRADHAUL_ASSERT(rest == 0 || (rest > 0 && (path.queue_pairs > 1 || early || cores_)),
                  "the parts of a transfer add up to its time");
  // It may have waited for the one posted before it.
  Cause waited_for = Cause::kBusy;
  if (early) waited_for = tells_gaps_ ? resent_cause(recovery_of(arrived)) : Cause::kReordered;
  parts.add(path.receiver, waited_for, rest);
  if (arrived.credit) blame_slot(parts);
  const WiredConnection& wires = connection_of(arrived).wires;
  const int shift = arrived.credit ? context_.engine.copies().minus(0, wires.shift) : wires.shift;
  const ChainId chain = context_.blame.extend(arrived.chain, parts, shift);
  context_.engine.drop_trace(arrived.trace);
  arrived.trace = kNone;
  const Rank rank = connection_of(arrived).first_port +
                    (arrived.credit ? wires.sent_as.source : wires.received_as.destination);
  if (context_.observation != nullptr && !arrived.credit) context_.observation->on_arrived(index);
  let_go(index);
  CauseChain cause(context_.blame, chain);
  context_.router.deliver(rank, completion, cause);
  context_.blame.let_go(chain);
}

void PacketTransport::deliver_end(std::int32_t index, const Completion& completion) {
  const Message& ended = message(index);
  const std::int64_t waited = context_.engine.now() - ended.posted;
  const ChainId past = ended.chain;
  context_.blame.hold(past);
  const WiredConnection& wires = connection_of(ended).wires;
  const Rank rank = connection_of(ended).first_port +
                    (ended.credit ? wires.received_as.destination : wires.sent_as.source);
  if (context_.observation != nullptr && !ended.credit) context_.observation->on_done(index);
  let_go(index);
  CauseChain cause(context_.blame, past, waited);
  context_.router.deliver(rank, completion, cause);
  context_.blame.let_go(past);
}

void PacketTransport::let_go(std::int32_t index) {
  if (--message(index).holders > 0) return;
  context_.blame.let_go(message(index).chain);
  --connection_of(message(index)).outstanding;
  free_messages_.push_back(index);
  if (message(index).part_of != kNone) let_go(message(index).part_of);
}

}  // namespace gradhaul
