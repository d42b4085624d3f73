// Congestion control in the simulated NICs (DCQCN): the receiver notifies, the sender's queue pair
// keeps to its rate.

#include <algorithm>

#include "core/network_framing.h"
#include "sim/packet_transport.h"
#include "sim/port_observation.h"

namespace gradhaul {

// Of a queue pair, no more than one in each interval.
void PacketTransport::notify(const Packet& packet, std::int64_t time) {
  const Message& incoming = message(packet.message);
  const Path& path = path_of(incoming);
  const std::int32_t number = path.first_queue_pair + incoming.queue_pair;
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(number)];
  const Network& network = context_.fabric.cluster().network;
  const std::int32_t there = receiving_injector(path);
  NotificationCounts& counts = injectors_[static_cast<std::size_t>(there)].notifications;
  ++counts.marked;
  if (time < pair.notified + network.congestion.notification_interval.ps) return;
  pair.notified = time;
  ++counts.sent;
  Packet notification;
  notification.message = number;
  notification.extra = kNotificationBytes.count;
  const FlowId flow = path.flow(FlowKind::kNotify, incoming.queue_pair);
  if (context_.ports != nullptr) context_.ports->on_notify(flow, number);
  context_.engine.send(flow, notification, time);
}

void PacketTransport::heed_notification(std::int32_t queue_pair) {
  const std::int64_t now = context_.engine.now();
  reactions_[static_cast<std::size_t>(queue_pair)].on_notification(now);
  const std::int32_t sender = queue_pairs_[static_cast<std::size_t>(queue_pair)].injector;
  ++injectors_[static_cast<std::size_t>(sender)].notifications.heeded;
}

// The next in turn whose rate lets it send comes first; false where none does yet.
bool PacketTransport::bring_sendable_first(std::int32_t injector, std::int64_t now) {
  std::vector<std::int32_t>& active = injectors_[static_cast<std::size_t>(injector)].active;
  std::int64_t earliest = INT64_MAX;
  for (auto place = active.begin(); place != active.end(); ++place) {
    const QueuePair& pair = queue_pairs_[static_cast<std::size_t>(*place)];
    Message& sending = message(pair.head);
    if (pair.next_packet <= now) {
      if (sending.paced_since >= 0) sending.paced += now - sending.paced_since;
      sending.paced_since = -1;
      std::rotate(active.begin(), place, place + 1);
      return true;
    }
    if (sending.paced_since < 0) sending.paced_since = now;
    earliest = std::min(earliest, pair.next_packet);
  }
  wake(injector, earliest);
  return false;
}

void PacketTransport::pace(std::int32_t queue_pair, std::int64_t payload, std::int64_t now) {
  const Bytes wire = Bytes{payload} + packet_overhead(context_.fabric.cluster().network);
  ReactionPoint& reaction = reactions_[static_cast<std::size_t>(queue_pair)];
  QueuePair& pair = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  pair.next_packet = std::max(pair.next_packet, now) + reaction.spacing(wire, now);
  reaction.on_sent(wire, now);
}

}  // namespace gradhaul
