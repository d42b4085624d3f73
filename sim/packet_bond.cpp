// NICs whose two ports are bonded: a queue pair sends by the port that its hash gives
// (Fabric::wire()). Each port has half of the transmit buffer, so that one that is paused or has
// more to do holds up no queue pair of the other.

#include <algorithm>

#include "sim/packet_transport.h"

namespace gradhaul {

// Notes by which ports the queue pairs of a path send.
void PacketTransport::bond(const Path& path) {
  if (!node_.bonded_nics || path.kind != PathKind::kNic) return;
  Injector& injector = injectors_[static_cast<std::size_t>(path.injector)];
  for (int pair = 0; pair < path.queue_pairs; ++pair) {
    const LinkId out = context_.engine.first_link(path.flow(FlowKind::kWire, pair));
    if (injector.out == kNoLink) injector.out = out;
    if (out != injector.out) injector.second_out = out;
    queue_pairs_[static_cast<std::size_t>(path.first_queue_pair + pair)].port =
        out == injector.out ? 0 : 1;
  }
}

// The next in turn whose port has room; false where none has, and what leaves calls transmit().
bool PacketTransport::bring_port_with_room_first(Injector& sender) {
  const auto place = std::find_if(sender.active.begin(), sender.active.end(), [&](auto number) {
    const QueuePair& pair = queue_pairs_[static_cast<std::size_t>(number)];
    const std::int64_t held = sender.port_buffered[static_cast<std::size_t>(pair.port)];
    return message(pair.head).credit || held == 0 ||
           held + sender.packet_payload <= sender.buffer / kMostPorts;
  });
  if (place == sender.active.end()) return false;
  std::rotate(sender.active.begin(), place, place + 1);
  return true;
}

// More, or less.
void PacketTransport::hold_in_port(const Message& sending, std::int64_t payload) {
  const Path& path = path_of(sending);
  const std::int32_t number = path.first_queue_pair + sending.queue_pair;
  const int port = queue_pairs_[static_cast<std::size_t>(number)].port;
  injectors_[static_cast<std::size_t>(path.injector)]
      .port_buffered[static_cast<std::size_t>(port)] += payload;
}

}  // namespace gradhaul
