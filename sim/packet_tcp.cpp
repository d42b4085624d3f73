// TCP between hosts: what PacketTransport does instead of posting to a NIC that reads and writes
// memory for itself. A slice that is in host memory is copied to the kernel by the sender's cores,
// aggregate by aggregate, each of which the NIC then reads and cuts into packets (TSO). At the far
// end an aggregate that is in host memory wakes a core, which copies it to the user's memory; when
// all of a slice is there, the GPU's copy engine takes it. Each aggregate is acknowledged by an
// empty packet. A slot that is given back is a short message of its own.
//
// Who has sent all is done: the kernel has a copy. What becomes of the packets is nobody's concern,
// since none is lost (Network::tcp).

#include <algorithm>

#include "sim/packet_transport.h"

namespace gradhaul {
std::int32_t PacketTransport::tcp_bytes(const Message& m) {
  return m.credit ? static_cast<std::int32_t>(kTcpCredit.count) : m.amount;
}

std::int32_t PacketTransport::tcp_aggregates(const Message& m) const {
  return (tcp_bytes(m) + cores_->aggregate() - 1) / cores_->aggregate();
}

TcpSockets& PacketTransport::tcp_of(const Message& m) {
  return tcp_[static_cast<std::size_t>(path_of(m).first_queue_pair)];
}

// In memory of the host, and its thread knows.
void PacketTransport::tcp_send(std::int32_t index) {
  Message& sending = message(index);
  sending.at_cores = context_.engine.now();
  tcp_of(sending).messages.push_back(index);
  tcp_deal(index);
}

// As many aggregates of the message's connection as there are free sockets.
void PacketTransport::tcp_deal(std::int32_t index) {
  TcpSockets& connection = tcp_of(message(index));
  while (!connection.messages.empty()) {
    const std::int32_t first = connection.messages.front();
    Message& dealt = message(first);
    const std::int32_t socket = connection.take_socket();
    if (socket == kNone) return;
    const std::int32_t left = tcp_bytes(dealt) - dealt.dealt * cores_->aggregate();
    if (++dealt.dealt == tcp_aggregates(dealt)) connection.messages.pop_front();
    const Path& path = path_of(dealt);
    work(cores_->core_of(path.source_gpu, path.first_sending_socket + socket),
         {first, std::min(left, cores_->aggregate()), socket, false});
  }
}

void PacketTransport::work(std::int32_t core, const CoreJob& job) {
  const bool idle = cores_->idle(core);
  cores_->add(core, job);
  if (idle) begin_work(core);
}

void PacketTransport::begin_work(std::int32_t core) {
  const CoreJob job = cores_->job(core);
  const Path& path = path_of(message(job.message));
  const FlowKind kind = job.receiving ? FlowKind::kReceiveCopy : FlowKind::kSendCopy;
  const bool copies = path.flow(kind) != kNone;
  const std::int64_t now = context_.engine.now();
  const std::int64_t end = cores_->begin(core, copies, now);
  context_.engine.schedule(end, static_cast<std::uint32_t>(RunEvent::kCoreFinished), core, core);
  for (std::int32_t copied = 0; copies && copied < job.bytes; copied += kCopiedAtOnce) {
    Packet train;
    train.message = core;  // it names a core
    train.payload = kCopyPasses * std::min(kCopiedAtOnce, job.bytes - copied);
    train.last_of_message = copied + kCopiedAtOnce >= job.bytes;
    context_.engine.send(path.flow(kind), train, now);
  }
}

void PacketTransport::core_copied(const Packet& packet, std::int64_t delivered) {
  if (!packet.last_of_message) return;
  context_.engine.schedule(delivered, static_cast<std::uint32_t>(RunEvent::kCoreFinished),
                           packet.message, packet.message);
}

// Its own time, or its copy.
void PacketTransport::core_finished(std::int32_t core) {
  const auto job = cores_->finish_part(core, context_.engine.now());
  if (!job) return;
  if (job->receiving) {
    tcp_received(job->message);
  } else {
    tcp_sent(*job);
  }
  // What follows from this may have begun with the next.
  if (!cores_->idle(core) && !cores_->working(core)) begin_work(core);
}

// The kernel has an aggregate, and tells the NIC.
void PacketTransport::tcp_sent(const CoreJob& job) {
  Message& sent = message(job.message);
  const std::int64_t now = context_.engine.now();
  TcpSockets& connection = tcp_of(sent);
  connection.sending[static_cast<std::size_t>(job.socket)] = false;
  const Path& path = path_of(sent);
  const Duration doorbell = node_.nic.doorbell + node_.nic.wqe_fetch;
  if (++sent.copied_by_core == tcp_aggregates(sent)) {
    Trace& parts = context_.engine.trace(sent.trace);
    parts.add(path.sending_core, Cause::kBusy, now - sent.at_cores);
    parts.add(kNoResource, Cause::kDoorbell, doorbell.ps);
    event_for(job.message, sent.credit ? RunEvent::kCreditDone : RunEvent::kDataDone, now);
  }
  event_for(job.message, RunEvent::kTcpSent, now + doorbell.ps);
  if (!connection.messages.empty()) tcp_deal(connection.messages.front());
}

void PacketTransport::tcp_in_nic(std::int32_t index) {
  Message& sending = message(index);
  if (++sending.in_nic == 1) return message_ready(index);
  const Path& path = path_of(sending);
  note_ready(sending);
  const std::int32_t number = path.first_queue_pair + sending.queue_pair;
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(number)];
  if (pair.head == index && !pair.active) activate(number);
  transmit(path.injector);
}

// Payload that a NIC may read, less what it has asked for.
std::int64_t PacketTransport::tcp_readable(const Message& m) const {
  const std::int64_t copied = std::int64_t{m.in_nic} * cores_->aggregate();
  return std::min<std::int64_t>(copied, m.amount) - m.asked;
}

// A packet has come: the last one of an aggregate is acknowledged.
void PacketTransport::tcp_acknowledge(const Packet& packet, std::int64_t time) {
  Message& incoming = message(packet.message);
  incoming.received += packet.payload;
  const bool ends = packet.last_of_message || incoming.received % cores_->aggregate() == 0;
  if (!ends) return;
  const Path& path = path_of(incoming);
  Packet answer;
  context_.engine.send(path.flow(FlowKind::kAcknowledge, incoming.queue_pair), answer, time);
}

// Payload is in the receiver's host memory, in the order in which it was sent.
void PacketTransport::tcp_written(const Packet& packet, std::int64_t delivered) {
  Message& incoming = message(packet.message);
  incoming.written += packet.payload;
  if (packet.last_of_message) incoming.copied_out = true;
  if (!packet.last_of_message && incoming.written % cores_->aggregate() != 0) return;
  if (packet.last_of_message) incoming.at_cores = delivered;
  event_for(packet.message, RunEvent::kTcpLanded, delivered);
}

std::int32_t PacketTransport::tcp_receiving_core(const Message& m) {
  const Path& path = path_of(m);
  return cores_->core_of(path.destination_gpu, path.first_receiving_socket + tcp_of(m).receiving);
}

// An idle core is woken by an interrupt; a busy one finds it when it has time.
void PacketTransport::tcp_landed(std::int32_t index) {
  Message& incoming = message(index);
  const bool last = ++incoming.landed_aggregates == tcp_aggregates(incoming);
  if (!cores_->idle(tcp_receiving_core(incoming))) return tcp_receive(index);
  incoming.woke = last;
  event_for(index, RunEvent::kTcpReceive, context_.engine.now() + cores_->settings().interrupt.ps);
}

void PacketTransport::tcp_receive(std::int32_t index) {
  Message& incoming = message(index);
  const std::int32_t left = tcp_bytes(incoming) - incoming.taken * cores_->aggregate();
  ++incoming.taken;
  const std::int32_t core = tcp_receiving_core(incoming);
  TcpSockets& connection = tcp_of(incoming);
  const std::int32_t socket = connection.receiving;
  connection.receiving = (socket + 1) % cores_->settings().sockets;
  work(core, {index, std::min(left, cores_->aggregate()), socket, true});
}

void PacketTransport::tcp_received(std::int32_t index) {
  Message& incoming = message(index);
  if (++incoming.received_by_core < tcp_aggregates(incoming)) return;
  const std::int64_t now = context_.engine.now();
  const Path& path = path_of(incoming);
  Trace& parts = context_.engine.trace(incoming.trace);
  const std::int64_t woken = incoming.woke ? cores_->settings().interrupt.ps : 0;
  parts.add(kNoResource, Cause::kWakeUp, woken);
  parts.add(path.receiving_core, Cause::kBusy, now - incoming.at_cores - woken);
  if (incoming.credit) return event_for(index, RunEvent::kCreditArrived, now);
  start_copy(index, now);
}

}  // namespace gradhaul
