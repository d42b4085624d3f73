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
  if (hop.data) payload_lost_ += moved.payload;
  const Packet copy = moved;
  free(id);
  endpoints_.on_loss(copy, link);
  return true;
}

}  // namespace gradhaul
