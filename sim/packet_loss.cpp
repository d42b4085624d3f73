// How the plain engine loses packets.

#include "sim/packet_engine.h"

namespace gradhaul {

// The far end drops what it gets of it, so that its buffer is free at once. A packet that a link
// loses has been on it as long as any other.
bool PacketEngine::lose(PacketId id, LinkId link, std::int64_t serialisation) {
  Packet& moved = packet(id);
  FlowHop& hop = hop_of(moved);
  const std::int64_t delivered = now_ + serialisation + state(link).latency;
  const Bytes wire{wire_bytes(hop, moved, form_of(hop, moved).units)};
  if (!losses_.loses(link, wire, now_, delivered)) return false;
  empty_far_buffer(moved, link, serialisation);
  discard(id, link);
  return true;
}

void PacketEngine::discard(PacketId id, LinkId link) {
  const Packet copy = packet(id);
  if (hop_of(copy).data) payload_lost_ += copy.payload;
  free(id);
  endpoints_.on_loss(copy, link);
}

// Of a packet that comes to wait for a link at a switch that drops.
bool PacketEngine::keeps_waiting(PacketId id, LinkId link) {
  const Packet& arrived = packet(id);
  if (dropping_.keeps_waiting(link, now_, form_of(hop_of(arrived), arrived).credits)) return true;
  ++link_state(link).discarded;
  discard(id, link);
  return false;
}

// Of a packet of the data's priority that starts on an Ethernet link: what it leaves, and what it
// will fill. False where it does not fit there.
bool PacketEngine::fill_buffers(LinkId link, Packet& started, std::int64_t serialisation) {
  LinkState& state = link_state(link);
  const std::int32_t bytes = hop_of(started).form.credits;
  if (state.drops) dropping_.leaves(link, now_ + serialisation, bytes);
  if (!state.lossless && !state.spills) return true;
  const std::int64_t there = now_ + serialisation + fabric_.link(link).pause.cable.ps;
  if (state.spills) {
    const bool fits = state.lossless ? buffers_.fits(link, now_, there, bytes)
                                     : dropping_.keeps_arriving(link, now_, bytes);
    if (!fits) {
      ++state.spilt;
      return false;
    }
  }
  started.ingress_units = static_cast<std::int16_t>(bytes);
  if (state.lossless) {
    buffers_.expect(link, now_, there, bytes);
    ask_for_looks();
  }
  return true;
}

}  // namespace gradhaul
