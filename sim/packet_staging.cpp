// Staging through pinned host memory: what PacketTransport does where a NIC does not reach a GPU's
// memory (core/gpudirect.h). The sender's thread starts a copy of the slice to host memory and,
// when that has ended, gives it to the NIC; the receiver's starts another when the NIC has
// completed its writes. Slices follow each other through these stages, so that all are busy at
// once.

#include <algorithm>

#include "core/protocol.h"
#include "sim/packet_transport.h"

namespace gradhaul {

// From the kernel's flag to the copy to host memory.
void PacketTransport::stage_out(std::int32_t index, std::int64_t from) {
  Message& staged = message(index);
  staged.copied_out = false;
  const std::int64_t told = add_flag(staged, path_of(staged), from);
  start_copy(index, told);
}

void PacketTransport::start_copy(std::int32_t index, std::int64_t from) {
  Trace& parts = context_.engine.trace(message(index).trace);
  parts.add(kNoResource, Cause::kStaging, node_.gpu.copy_setup.ps);
  event_for(index, RunEvent::kCopyReady, from + node_.gpu.copy_setup.ps);
}

// Two engines to a GPU: out, in.
std::int32_t PacketTransport::copy_engine(const Message& m) const {
  const Path& path = path_of(m);
  return m.copied_out ? 2 * path.destination_gpu + 1 : 2 * path.source_gpu;
}

void PacketTransport::copy_ready(std::int32_t index) {
  Message& ready = message(index);
  ready.ready = context_.engine.now();
  ready.copied = 0;
  note_backlogs(ready, ready.copied_out ? FlowKind::kCopyIn : FlowKind::kCopyOut);
  const std::int32_t engine = copy_engine(ready);
  copy_engines_[static_cast<std::size_t>(engine)].waiting.push_back(index);
  copy(engine);
}

void PacketTransport::copy(std::int32_t number) {
  const bool in = number % 2 == 1;
  const std::int64_t now = context_.engine.now();
  while (true) {
    CopyEngine& engine = copy_engines_[static_cast<std::size_t>(number)];
    engine.absorb(now);
    if (engine.waiting.empty()) return;
    const std::int32_t index = engine.waiting.front();
    Message& copied = message(index);
    const std::int32_t payload = std::min(kCopyTrain, copied.amount - copied.copied);
    const std::int64_t room = in ? kCopyWindow : kCopyBuffer;
    if (engine.outstanding > 0 && engine.outstanding + payload > room) {
      if (!engine.returns.empty()) wake_copies(number, engine.returns.front().time);
      return;
    }
    engine.outstanding += payload;
    copied.copied += payload;
    const bool last = copied.copied == copied.amount;
    if (last) {
      const FlowKind kind = in ? FlowKind::kCopyIn : FlowKind::kCopyOut;
      blame_route(path_of(copied), kind, copied, now - copied.ready);
      engine.waiting.pop_front();
    }
    send_copy(index, payload, last, in);
  }
}

void PacketTransport::send_copy(std::int32_t index, std::int32_t payload, bool last, bool in) {
  const Message& copied = message(index);
  Packet packet;
  packet.message = index;
  packet.last_of_message = last;
  if (last) packet.trace = copied.trace;
  if (in) {
    const std::int64_t request = node_.pcie_settings.max_read_request.count;
    packet.asked = payload;
    packet.units = static_cast<std::int16_t>((payload + request - 1) / request);
  } else {
    packet.payload = payload;
  }
  send(path_of(copied), in ? FlowKind::kCopyRequest : FlowKind::kCopyOut, packet,
       context_.engine.now());
}

void PacketTransport::wake_copies(std::int32_t engine, std::int64_t time) {
  CopyEngine& woken = copy_engines_[static_cast<std::size_t>(engine)];
  if (woken.wake <= time) return;
  woken.wake = time;
  context_.engine.schedule(time, static_cast<std::uint32_t>(RunEvent::kCopyWake), engine, engine);
}

void PacketTransport::copy_left(const Packet& packet) {
  const std::int32_t engine = copy_engine(message(packet.message));
  copy_engines_[static_cast<std::size_t>(engine)].outstanding -= packet.payload;
  copy(engine);
}

// A slice is in host memory: the NIC may have it, or a peer's copy engine.
void PacketTransport::copied_out(const Packet& packet, std::int64_t delivered) {
  if (!packet.last_of_message) return;
  Message& copied = message(packet.message);
  copied.copied_out = true;
  if (path_of(copied).kind == PathKind::kPeer) return start_copy(packet.message, delivered);
  post_to_nic(copied, delivered, packet.message);
}

void PacketTransport::copy_asked(const Packet& packet, std::int64_t delivered) {
  const Path& path = path_of(message(packet.message));
  Packet completion;
  completion.message = packet.message;
  completion.payload = packet.asked;
  completion.trace = packet.trace;
  completion.last_of_message = packet.last_of_message;
  if (packet.trace != kNone) {
    context_.engine.trace(packet.trace)
        .add(kNoResource, Cause::kLatency, node_.host_memory_latency.ps);
  }
  send(path, FlowKind::kCopyIn, completion, delivered + node_.host_memory_latency.ps);
}

void PacketTransport::copied_in(const Packet& packet, std::int64_t delivered) {
  const Message& copied = message(packet.message);
  const Path& path = path_of(copied);
  CopyEngine& engine = copy_engines_[static_cast<std::size_t>(2 * path.destination_gpu + 1)];
  engine.returns.push_back({delivered, packet.payload});
  if (!engine.waiting.empty()) wake_copies(2 * path.destination_gpu + 1, delivered);
  if (!packet.last_of_message) return;
  Trace& parts = context_.engine.trace(packet.trace);
  parts.add(kNoResource, Cause::kLatency, node_.gpu.write_latency.ps);
  std::int64_t known = delivered + node_.gpu.write_latency.ps;
  if (!polls_data(connection_of(copied).protocol)) {
    parts.add(kNoResource, Cause::kFlag, node_.gpu.flag_latency.ps);
    parts.add(path.destination_socket_link, Cause::kLatency, path.destination_detour.ps);
    known += (node_.gpu.flag_latency + path.destination_detour).ps;
  }
  event_for(packet.message, RunEvent::kDataArrived, known);
  if (path.kind == PathKind::kPeer) event_for(packet.message, RunEvent::kDataDone, known);
}

}  // namespace gradhaul
