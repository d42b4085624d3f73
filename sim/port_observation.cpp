#include "sim/port_observation.h"

#include <algorithm>

#include "core/assert.h"
#include "core/ecmp.h"
#include "core/roce_framing.h"

namespace gradhaul {
namespace {

constexpr std::uint32_t kMask24 = 0xFF'FFFF;
// Numbers below are left to what a NIC has before anybody makes a queue pair.
constexpr std::uint32_t kFirstQueuePair = 0x100;
constexpr std::uint64_t kFirstAddress = 0x7F00'0000'0000;
constexpr std::uint64_t kAddressesOfRank = std::uint64_t{1} << 33;

std::uint32_t number_at_source(std::int32_t queue_pair) {
  return (kFirstQueuePair + 2 * static_cast<std::uint32_t>(queue_pair)) & kMask24;
}
std::uint32_t number_at_destination(std::int32_t queue_pair) {
  return (number_at_source(queue_pair) + 1) & kMask24;
}

// Real ones are drawn when a connection is made.
std::uint32_t first_sequence(std::int32_t queue_pair) {
  return (static_cast<std::uint32_t>(queue_pair) + 1) * 0x9E3779B1 >> 8;
}

PacketKind kind_of(const WirePacket& packet) {
  if (packet.first) return packet.last ? PacketKind::kWriteOnly : PacketKind::kWriteFirst;
  return packet.last ? PacketKind::kWriteLast : PacketKind::kWriteMiddle;
}

}  // namespace

PortObservation::PortObservation(PortObserver& observer, const Fabric& fabric, const Wiring& wiring,
                                 SlotPlaces slots, Bytes slot_size, std::uint64_t seed)
    : observer_(observer),
      fabric_(fabric),
      slots_(std::move(slots)),
      slot_size_(slot_size),
      seed_(seed) {
  views_.resize(fabric.links().size());
  for (std::size_t i = 0; i < observer.ports().size(); ++i) {
    add_port(static_cast<std::int32_t>(i), observer.ports()[i]);
  }
  for (const FlowSpec& flow : wiring.flows) {
    FlowPackets& packets = flows_.emplace_back();
    for (const RouteHop& hop : flow.route) {
      if (watches(hop.link)) packets.last_view = hop.link;
    }
  }
  queue_pairs_.resize(wiring.queue_pairs.size());
  for (const WiredConnection& wired : wiring.connections) {
    add_queue_pairs(wired, wired.data, false);
    add_queue_pairs(wired, wired.credit, true);
  }
}

void PortObservation::add_port(std::int32_t port, const std::string& name) {
  const std::vector<Link>& links = fabric_.links();
  const Network& network = fabric_.cluster().network;
  const bool direct = network.topology.kind == TopologyKind::kBackToBack;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].port != name) continue;
    views_[i].push_back({port, true, 0});
    const LinkId back = fabric_.reverse_of(links[i]);
    const Link& into = fabric_.link(back);
    // A link into a switch takes as long as its cable and what the switch needs to forward.
    const bool into_nic =
        direct || (into.name.size() > 3 && into.name.compare(into.name.size() - 3, 3, ".in") == 0);
    const Duration cable = into_nic ? into.latency : into.latency - network.switch_latency;
    views_[static_cast<std::size_t>(back)].push_back({port, false, cable.ps});
  }
}

void PortObservation::add_queue_pairs(const WiredConnection& wired, const Path& path, bool credit) {
  if (path.kind != PathKind::kNic) return;
  const Node& node = fabric_.cluster().node;
  for (int pair = 0; pair < path.queue_pairs; ++pair) {
    const std::int32_t number = path.first_queue_pair + pair;
    QueuePairNumbers& numbers = queue_pairs_[static_cast<std::size_t>(number)];
    numbers.source = {path.injector / node.nic_count, path.injector % node.nic_count};
    numbers.destination = {path.destination_gpu / node.gpu_count, path.destination_nic};
    numbers.port_there = udp_source_port(seed_, wired.sent_as, credit, pair, false);
    numbers.port_back = udp_source_port(seed_, wired.sent_as, credit, pair, true);
    numbers.next_sequence = first_sequence(number);
  }
}

void PortObservation::on_posted(std::int32_t message, const ConnectionKey& connection,
                                const WriteRequest& request) {
  if (static_cast<std::size_t>(message) >= messages_.size()) {
    messages_.resize(static_cast<std::size_t>(message) + 1);
  }
  MessageNumbers& numbers = messages_[static_cast<std::size_t>(message)];
  numbers = {};
  if (request.kind == WriteKind::kCredit) {
    numbers.immediate = static_cast<std::uint32_t>(request.slots_returned);
    return;
  }
  const auto rank = static_cast<std::uint64_t>(connection.destination);
  const auto place = slots_.find(connection);
  const Bytes slots = place == slots_.end() ? Bytes{} : place->second;
  numbers.address = kFirstAddress + rank * kAddressesOfRank +
                    static_cast<std::uint64_t>((slots + slot_size_ * request.slot).count);
  numbers.key = static_cast<std::uint32_t>(rank + 1) << 8;
  numbers.length = request.length;
  numbers.immediate = writes_[connection]++;
}

void PortObservation::on_part(std::int32_t part, std::int32_t whole, Bytes offset, Bytes length) {
  if (static_cast<std::size_t>(part) >= messages_.size()) {
    messages_.resize(static_cast<std::size_t>(part) + 1);
  }
  MessageNumbers& numbers = messages_[static_cast<std::size_t>(part)];
  numbers = messages_[static_cast<std::size_t>(whole)];
  numbers.address += static_cast<std::uint64_t>(offset.count);
  numbers.length = length;
}

void PortObservation::on_wire(const WirePacket& packet) {
  QueuePairNumbers& pair = queue_pairs_[static_cast<std::size_t>(packet.queue_pair)];
  MessageNumbers& message = messages_[static_cast<std::size_t>(packet.message)];
  PortPacket seen;
  seen.kind = kind_of(packet);
  seen.source = pair.source;
  seen.destination = pair.destination;
  seen.udp_source_port = pair.port_there;
  seen.queue_pair = number_at_destination(packet.queue_pair);
  seen.sequence = pair.next_sequence;
  seen.payload = {packet.payload};
  seen.markable = packet.payload > 0 && fabric_.cluster().network.congestion.dcqcn;
  seen.address = message.address;
  seen.key = message.key;
  seen.length = message.length;
  seen.immediate = message.immediate;
  message.last_sequence = pair.next_sequence;
  pair.next_sequence = (pair.next_sequence + 1) & kMask24;
  hand_out(packet.flow, std::move(seen));
}

PortPacket PortObservation::answer(std::int32_t queue_pair, PacketKind kind) const {
  const QueuePairNumbers& pair = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  PortPacket seen;
  seen.kind = kind;
  seen.source = pair.destination;
  seen.destination = pair.source;
  seen.udp_source_port = pair.port_back;
  seen.queue_pair = number_at_source(queue_pair);
  return seen;
}

void PortObservation::on_acknowledge(std::int32_t message, FlowId flow, std::int32_t queue_pair) {
  QueuePairNumbers& pair = queue_pairs_[static_cast<std::size_t>(queue_pair)];
  pair.completed = (pair.completed + 1) & kMask24;
  PortPacket seen = answer(queue_pair, PacketKind::kAcknowledge);
  seen.sequence = messages_[static_cast<std::size_t>(message)].last_sequence;
  seen.message_sequence = pair.completed;
  hand_out(flow, std::move(seen));
}

void PortObservation::on_notify(FlowId flow, std::int32_t queue_pair) {
  hand_out(flow, answer(queue_pair, PacketKind::kNotification));
}

// Packets of a flow pass each of its links in their order.
void PortObservation::hand_out(FlowId flow, PortPacket packet) {
  FlowPackets& packets = flows_[static_cast<std::size_t>(flow)];
  if (packets.last_view == kNoLink) return;
  packets.on_their_way.push_back(std::move(packet));
}

void PortObservation::on_start(const PacketStart& start) {
  if (!watches(start.link)) return;
  tell_until(start.start);
  FlowPackets& packets = flows_[static_cast<std::size_t>(start.packet.flow)];
  const auto place = static_cast<std::size_t>(start.packet.sequence - packets.first);
  GRADHAUL_ASSERT(place < packets.on_their_way.size(), "a packet on a wire has been handed to it");
  PortPacket seen = packets.on_their_way[place];
  seen.marked = start.packet.marked;
  for (const View& view : views_[static_cast<std::size_t>(start.link)]) {
    seen.port = view.port;
    seen.sent = view.sent;
    seen.time = start.start + view.delay;
    pending_.emplace(seen.time, seen);
  }
  if (start.link != packets.last_view) return;
  packets.on_their_way.pop_front();
  ++packets.first;
}

void PortObservation::show_pause(LinkId way, bool pause, std::int64_t time) {
  for (const View& view : views_[static_cast<std::size_t>(way)]) {
    PortPause seen;
    seen.port = view.port;
    seen.sent = view.sent;
    seen.time = time + view.delay;
    seen.pause = pause;
    seen.sender = fabric_.link(way).port;
    pending_.emplace(seen.time, std::move(seen));
  }
}

void PortObservation::on_pause_frame(LinkId link, LinkId way, bool pause, std::int64_t now,
                                     std::int64_t start, std::int64_t /*serialisation*/) {
  if (!watches(way)) return;
  tell_until(now);
  show_pause(way, pause, start);
  if (pause) {
    renewals_[link] = {way, now + pause_renewal(fabric_.link(link).rate).ps};
  } else {
    renewals_.erase(link);
  }
}

void PortObservation::renew_pauses(std::int64_t now) {
  for (auto& [link, renewal] : renewals_) {
    for (; renewal.time <= now; renewal.time += pause_renewal(fabric_.link(link).rate).ps) {
      show_pause(renewal.way, true, renewal.time);
    }
  }
}

// Nothing that is still to come can be earlier.
void PortObservation::tell_until(std::int64_t now) {
  renew_pauses(now);
  tell(pending_.upper_bound(now));
}

void PortObservation::tell(Pending::iterator end) {
  for (auto next = pending_.begin(); next != end; ++next) {
    if (const auto* packet = std::get_if<PortPacket>(&next->second)) {
      observer_.on_packet(*packet);
    } else {
      observer_.on_pause_frame(std::get<PortPause>(next->second));
    }
  }
  pending_.erase(pending_.begin(), end);
}

// What has begun to be sent is received too.
void PortObservation::end(std::int64_t now) {
  renew_pauses(now);
  tell(pending_.end());
  observer_.on_row_end(now);
}

}  // namespace gradhaul
