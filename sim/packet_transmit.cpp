// The sending half of PacketTransport: queue pairs in turn, reads of the payload, packets.

#include <algorithm>

#include "core/infiniband_framing.h"
#include "sim/packet_transport.h"
#include "sim/port_observation.h"
#include "sim/run_observation.h"

namespace gradhaul {

void PacketTransport::message_ready(std::int32_t index) {
  Message& ready = message(index);
  if (ready.post_turn) return take_post_turn(index);
  if (ready.admitted) {
    let_in(ready);
  } else if (held_in_nic(index)) {
    return;
  }
  const Path& path = path_of(ready);
  note_ready(ready);
  const std::int32_t number =
      ready.admitted ? path.first_queue_pair + ready.queue_pair : choose_queue_pair(ready);
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(number)];
  ready.wire = path.flow(out_kind(path), ready.queue_pair);
  if (!ready.credit) pair.payload += ready.amount;
  number_packets(index);
  if (pair.head == kNone) {
    pair.head = index;
    if (!numbers(path) || !recoveries_[static_cast<std::size_t>(number)].resting) activate(number);
  } else {
    message(pair.tail).next = index;
  }
  pair.tail = index;
  transmit(path.injector);
}

// Of its path, in turn, unless it is a part of a message; among all.
std::int32_t PacketTransport::choose_queue_pair(Message& ready) {
  const Path& path = path_of(ready);
  if (ready.part_of != kNone) return path.first_queue_pair + ready.queue_pair;
  const std::int64_t turn = ready.credit ? 0 : connection_of(ready).writes++;
  ready.queue_pair = static_cast<std::int32_t>(turn % path.queue_pairs);
  return path.first_queue_pair + ready.queue_pair;
}

// The NIC knows of it, or of more of it.
void PacketTransport::note_ready(Message& ready) {
  const LinkId out = injectors_[static_cast<std::size_t>(path_of(ready).injector)].out;
  PacketEngine& engine = context_.engine;
  ready.ready = engine.now();
  if (out != kNoLink) {
    ready.wire_backlog = engine.backlog_total(out);
    ready.wire_stall = engine.stall_total(out);
  }
  note_backlogs(ready, FlowKind::kCompletion);
}

void PacketTransport::activate(std::int32_t queue_pair) {
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  pair.active = true;
  injectors_[static_cast<std::size_t>(pair.injector)].active.push_back(queue_pair);
}

// How long the links of a flow have been backed up by now.
void PacketTransport::note_backlogs(Message& ready, FlowKind kind) {
  const Path& path = path_of(ready);
  const PacketEngine& engine = context_.engine;
  for (int i = 0; i < watched_links(path, kind); ++i) {
    ready.read_backlog[static_cast<std::size_t>(i)] =
        engine.backlog_total(engine.link_of(path.flow(kind), i));
  }
}

void PacketTransport::wake(std::int32_t injector, std::int64_t time) {
  Injector& woken = injectors_[static_cast<std::size_t>(injector)];
  if (woken.wake <= time) return;
  woken.wake = time;
  if (context_.engine.wakes_by_station(injector, time)) return;
  context_.engine.schedule(time, static_cast<std::uint32_t>(RunEvent::kInjectorWake), injector,
                           injector);
}

// How much of the message may be asked for now; 0: none, and what ends the wait calls transmit().
std::int64_t PacketTransport::allowed_payload(Injector& injector, const Message& sending) {
  std::int64_t payload =
      std::min<std::int64_t>(injector.packet_payload - sending.asked % injector.packet_payload,
                             sending.amount - sending.asked);
  if (cores_ && path_of(sending).kind == PathKind::kNic) {
    payload = std::min(payload, tcp_readable(sending));
  }
  if (injector.buffered > 0 && injector.buffered + payload > injector.buffer) return 0;
  if (injector.tags > 0 && path_of(sending).flow(FlowKind::kReadRequest) != kNone) {
    const std::int64_t free = injector.free_tags(context_.engine.now());
    // A packet may need more requests than there are tags at all: then it is fetched in parts.
    const std::int64_t wanted = std::min(injector.requests(payload), injector.tags);
    if (free < wanted) {
      injector.wants_tags = true;
      if (!injector.tag_returns.empty()) {
        wake(path_of(sending).injector, injector.tag_returns.front().time);
      }
      return 0;
    }
    payload = std::min(payload, wanted * injector.read_request);
  }
  return payload;
}

void PacketTransport::transmit(std::int32_t injector) {
  if (context_.engine.transmits_by_station(injector)) return;
  while (transmit_next(injector)) {
  }
}

// One packet, or a piece of one; false where none can go now.
bool PacketTransport::transmit_next(std::int32_t injector) {
  const std::int64_t now = context_.engine.now();
  Injector& sender = injectors_[static_cast<std::size_t>(injector)];
  if (sender.active.empty()) return false;
  if (!reactions_.empty() && !bring_sendable_first(injector, now)) return false;
  if (sender.second_out != kNoLink && !bring_port_with_room_first(sender)) return false;
  const std::int32_t number = sender.active.front();
  const std::int32_t index = queue_pairs_[static_cast<std::size_t>(number)].head;
  Message& sending = message(index);
  if (sending.asked == 0 && now < sender.next_message) {
    wake(injector, sender.next_message);
    return false;
  }
  std::int64_t payload = 0;
  if (!sending.credit) {
    payload = allowed_payload(sender, sending);
    if (payload == 0) return false;
  }
  if (sending.asked == 0) sender.next_message = now + sender.message_gap;
  sender.active.erase(sender.active.begin());
  if (!reactions_.empty() && payload > 0) pace(number, payload, now);
  if (numbers(path_of(sending))) note_begun(sending, now);
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(number)];
  const bool last = sending.credit || sending.asked + payload == sending.amount;
  if (last) {
    if (!sending.landed) blame_wait_in_nic(sending, sender);
    pair.head = sending.next;
    if (pair.head == kNone) pair.tail = kNone;
  }
  // Of TCP, what the NIC has been given may be all asked for.
  const bool waits = pair.head == kNone || (cores_ && !last && tcp_waits(sending, payload));
  pair.active = !waits;
  if (!waits) sender.active.push_back(number);
  if (sending.credit) {
    put_on_wire(index, 0, now + sender.transmit_latency);
  } else {
    ask(index, payload);
  }
  return true;
}

// The wait between the NIC knowing a message and asking for its last packet: put down to the wire
// as far as packets were waiting for it, to what held the wire's credits, and beyond that to the
// most backed-up link of the read path, or to the number of reads outstanding where none was.
void PacketTransport::blame_wait_in_nic(Message& sending, const Injector& injector) {
  PacketEngine& engine = context_.engine;
  std::int64_t waited = engine.now() - sending.ready;
  if (waited == 0) return;
  Trace& parts = engine.trace(sending.trace);
  const Path& path = path_of(sending);
  if (numbers(path)) waited -= blame_losses(sending, waited);
  if (injector.out == kNoLink) {
    parts.add(path.sender, Cause::kBusy, waited);
    return;
  }
  const std::int64_t backed_up =
      std::min(waited, engine.backlog_total(injector.out) - sending.wire_backlog);
  const std::int64_t stalled =
      std::min(backed_up, engine.stall_total(injector.out) - sending.wire_stall);
  const FlowKind leaving = out_kind(path);
  const ResourceId culprit = engine.copies().seen(
      engine.stall_culprit(injector.out, static_cast<int>(TrafficClass::kPosted)),
      engine.copies().plus(path.shift(leaving), engine.copy_of(path.flow(leaving), 0)));
  parts.add(culprit == kNoResource ? path.sender : culprit, engine.stall_cause(injector.out),
            stalled);
  parts.add(path.sender, Cause::kBusy, backed_up - stalled);
  const std::int64_t paced = std::min(waited - backed_up, sending.paced);
  parts.add(path.sender, Cause::kPaced, paced);
  blame_route(path, FlowKind::kCompletion, sending, waited - backed_up - paced);
}

// Of a GPU and a NIC below one switch.
constexpr int kPeerLinks = 2;

// A wait for the links of one of its flows: put down to the one whose backlog grew most. What is
// staged, or goes by a root complex, is backed up from where it is narrow to its first link: there
// to the last that is.
void PacketTransport::blame_route(const Path& path, FlowKind kind, const Message& sending,
                                  std::int64_t waited) {
  if (waited == 0) return;
  PacketEngine& engine = context_.engine;
  Trace& parts = engine.trace(sending.trace);
  const FlowId reads = path.flow(kind);
  if (reads == kNone || engine.length(reads) == 0) {
    parts.add(path.sender, Cause::kBusy, waited);
    return;
  }
  const bool staged =
      kind != FlowKind::kCompletion || path.staged_out || engine.length(reads) > kPeerLinks;
  std::int64_t most = 0;
  int narrow = engine.length(reads) - 1;
  for (int i = 0; i < watched_links(path, kind); ++i) {
    const std::int64_t grown = engine.backlog_total(engine.link_of(reads, i)) -
                               sending.read_backlog[static_cast<std::size_t>(i)];
    if (staged ? grown * 2 >= waited : grown > most) {
      most = grown;
      narrow = i;
    }
  }
  const bool writes = kind == FlowKind::kCopyOut;
  const bool busy = writes || most * 2 >= waited;
  // What else holds reads back is counted where they come in; writes wait for their first link.
  const int otherwise = writes ? 0 : engine.length(reads) - 1;
  const int blamed = most * 2 >= waited ? narrow : otherwise;
  parts.add(engine.copies().seen(engine.resource_of(reads, blamed), path.shift(kind)),
            busy ? Cause::kBusy : Cause::kReadTags, waited);
}

void PacketTransport::ask(std::int32_t index, std::int64_t payload) {
  Message& asking = message(index);
  const Path& path = path_of(asking);
  Injector& injector = injectors_[static_cast<std::size_t>(path.injector)];
  asking.asked += static_cast<std::int32_t>(payload);
  injector.buffered += payload;
  if (injector.second_out != kNoLink) hold_in_port(asking, payload);
  if (path.flow(FlowKind::kReadRequest) == kNone) {
    put_on_wire(index, payload, context_.engine.now() + injector.transmit_latency);
    return;
  }
  begin_reading(asking);
  Packet request;
  request.message = index;
  request.asked = static_cast<std::int32_t>(payload);
  request.units = static_cast<std::int16_t>(injector.requests(payload));
  request.last_of_message = asking.asked == asking.amount;
  request.last_part = request.last_of_message || asking.asked % injector.packet_payload == 0;
  if (request.last_of_message && !asking.landed) request.trace = asking.trace;
  if (injector.tags > 0) injector.tags_used += request.units;
  send(path, FlowKind::kReadRequest, request, context_.engine.now());
}

// The read request is at the GPU, or at host memory: its completions leave as one train.
void PacketTransport::payload_asked(const Packet& packet, std::int64_t delivered) {
  const Path& path = path_of(message(packet.message));
  Packet completion;
  completion.message = packet.message;
  completion.payload = packet.asked;
  completion.trace = packet.trace;
  completion.last_part = packet.last_part;
  completion.last_of_message = packet.last_of_message;
  if (context_.engine.length(path.flow(FlowKind::kCompletion)) == 0) {
    send(path, FlowKind::kCompletion, completion, delivered);
    return;
  }
  const Duration reading = path.staged_out ? node_.host_memory_latency : node_.gpu.read_latency;
  if (packet.trace != kNone) {
    context_.engine.trace(packet.trace).add(kNoResource, Cause::kLatency, reading.ps);
  }
  send(path, FlowKind::kCompletion, completion, delivered + reading.ps);
}

void PacketTransport::payload_in_nic(const Packet& packet, std::int64_t delivered) {
  Message& sending = message(packet.message);
  const std::int32_t number = path_of(sending).injector;
  Injector& injector = injectors_[static_cast<std::size_t>(number)];
  // Completions come in the order of the requests, so whole requests are answered when their bytes
  // are there.
  const std::int64_t before = sending.gathered / injector.read_request;
  sending.gathered += packet.payload;
  const std::int64_t after = packet.last_part ? injector.requests(sending.gathered)
                                              : sending.gathered / injector.read_request;
  const std::int64_t answered = after - before;
  if (answered > 0 && injector.tags > 0) injector.tag_returns.push_back({delivered, answered});
  if (injector.wants_tags) {
    injector.wants_tags = false;
    wake(number, delivered);
  }
  if (sending.stale > 0) return throw_away(packet.message, packet, delivered);
  if (!packet.last_part) return;
  const std::int64_t payload = sending.gathered;
  sending.gathered = 0;
  if (sending.landed && packet.trace != kNone) context_.engine.drop_trace(packet.trace);
  put_on_wire(packet.message, payload, delivered + injector.transmit_latency);
  end_reading(packet.message);
}

void PacketTransport::put_on_wire(std::int32_t index, std::int64_t payload, std::int64_t ready) {
  Message& sending = message(index);
  const Path& path = path_of(sending);
  const Injector& injector = injectors_[static_cast<std::size_t>(path.injector)];
  Packet packet;
  packet.message = index;
  packet.payload = static_cast<std::int32_t>(payload);
  const bool ends = sending.credit || sending.sent + payload == sending.amount;
  bool begins = sending.sent == 0;
  packet.last_of_message = ends;
  if (sending.repeats != kNone) {
    const Message& whole = message(sending.repeats);
    begins = begins && sending.first_packet == whole.first_packet;
    packet.last_of_message =
        ends && sending.first_packet + sending.packets == whole.first_packet + whole.packets;
  }
  if (path.kind == PathKind::kNic && cores_) {
    if (sending.credit) packet.extra = kTcpCredit.count;
  } else if (path.kind == PathKind::kNic && !free_control_) {
    if (begins) packet.extra = kRethBytes.count;
    if (packet.last_of_message)
      packet.extra = static_cast<std::int16_t>(packet.extra + kImmediateBytes.count);
  }
  if (context_.ports != nullptr && path.kind == PathKind::kNic) {
    const std::int32_t pair = sending.queue_pair;
    context_.ports->on_wire({index, path.flow(FlowKind::kWire, pair), path.first_queue_pair + pair,
                             packet.payload, sending.sent == 0, packet.last_of_message});
  }
  if (numbers(path)) note_on_wire(sending, packet, ready);
  sending.sent += static_cast<std::int32_t>(payload);
  if (packet.last_of_message && !sending.landed) {
    packet.trace = sending.trace;
    sending.trace_away = keeps_early_ && numbers(path);
    context_.engine.trace(sending.trace)
        .add(path.sender, Cause::kLatency, injector.transmit_latency);
  }
  if (path.kind == PathKind::kNic && !sending.credit) ++packets_;
  const bool repeated = sending.repeats != kNone;
  send(path, out_kind(path), packet, ready, sending.queue_pair);
  if (repeated && ends) end_repeat(index);
}

void PacketTransport::on_first_start(const Packet& packet, std::int64_t /*now*/) {
  const Message& sending = message(packet.message);
  const auto kind = static_cast<FlowKind>(context_.engine.kind(packet.flow));
  if (kind == FlowKind::kCopyOut) return copy_left(packet);
  if (context_.observation != nullptr && !sending.credit) {
    context_.observation->on_left(whole_of(packet.message));
  }
  const std::int32_t number = path_of(sending).injector;
  if (number == kNone || packet.payload == 0) return;
  Injector& injector = injectors_[static_cast<std::size_t>(number)];
  injector.buffered -= packet.payload;
  if (injector.second_out != kNoLink) hold_in_port(sending, -packet.payload);
  transmit(number);
}

}  // namespace gradhaul
