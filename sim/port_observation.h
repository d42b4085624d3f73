#pragma once

// What crosses chosen ports, as packets of reliable connections: which write a packet is part of,
// and the numbers that its headers hold. The model has no numbers of queue pairs, no sequence
// numbers and no addresses; here they are given out as NICs and drivers would.

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "core/port_observer.h"
#include "core/transport.h"
#include "sim/packet_observer.h"
#include "sim/wiring.h"

namespace gradhaul {

// Where the receive slots of connections lie, among those of their rank.
using SlotPlaces = std::map<ConnectionKey, Bytes>;

// A write's packet as the transport hands it to the wire.
struct WirePacket {
  std::int32_t message = kNone;
  FlowId flow = kNone;
  std::int32_t queue_pair = kNone;  // among all
  std::int32_t payload = 0;
  bool first = false;
  bool last = false;
};

class PortObservation final : public PacketObserver {
 public:
  // All outlive it. `seed`: of the run, which settles UDP source ports.
  PortObservation(PortObserver& observer, const Fabric& fabric, const Wiring& wiring,
                  SlotPlaces slots, Bytes slot_size, std::uint64_t seed);

  bool watches(LinkId link) const { return !views_[static_cast<std::size_t>(link)].empty(); }

  void on_posted(std::int32_t message, const ConnectionKey& connection,
                 const WriteRequest& request);
  // Of a message that has been posted, so many bytes from there on are a message to the NIC.
  void on_part(std::int32_t part, std::int32_t whole, Bytes offset, Bytes length);
  void on_wire(const WirePacket& packet);
  void on_acknowledge(std::int32_t message, FlowId flow, std::int32_t queue_pair);
  void on_notify(FlowId flow, std::int32_t queue_pair);
  void end(std::int64_t now);

  void on_arrival(LinkId /*link*/, std::int64_t /*wire*/, std::int64_t /*now*/) override {}
  void on_start(const PacketStart& start) override;
  void on_stall(LinkId /*link*/, std::int64_t /*since*/, std::int64_t /*until*/) override {}
  void on_pause_frame(LinkId link, LinkId way, bool pause, std::int64_t now, std::int64_t start,
                      std::int64_t serialisation) override;
  void on_pause(LinkId /*link*/, bool /*paused*/, std::int64_t /*now*/) override {}

 private:
  using Pending = std::multimap<std::int64_t, std::variant<PortPacket, PortPause>>;
  // A port that a link leaves, or leads into after `delay`.
  struct View {
    std::int32_t port = 0;
    bool sent = false;
    std::int64_t delay = 0;
  };
  struct FlowPackets {
    LinkId last_view = kNoLink;  // the last link of its route that is looked at
    std::int64_t first = 0;      // the sequence of the first of:
    std::deque<PortPacket> on_their_way;
  };
  struct QueuePairNumbers {
    NicPlace source;
    NicPlace destination;
    std::uint16_t port_there = 0;
    std::uint16_t port_back = 0;
    std::uint32_t next_sequence = 0;
    std::uint32_t completed = 0;  // messages, at the destination
  };
  struct MessageNumbers {
    std::uint64_t address = 0;
    std::uint32_t key = 0;
    Bytes length;
    std::uint32_t immediate = 0;
    std::uint32_t last_sequence = 0;
  };
  // When a pause that goes on is renewed.
  struct Renewal {
    LinkId way = kNoLink;
    std::int64_t time = 0;
  };

  void add_port(std::int32_t port, const std::string& name);
  void add_queue_pairs(const WiredConnection& wired, const Path& path, bool credit);
  void hand_out(FlowId flow, PortPacket packet);
  PortPacket answer(std::int32_t queue_pair, PacketKind kind) const;
  void show_pause(LinkId way, bool pause, std::int64_t time);
  void renew_pauses(std::int64_t now);
  void tell_until(std::int64_t now);
  void tell(Pending::iterator end);

  PortObserver& observer_;
  const Fabric& fabric_;
  SlotPlaces slots_;
  Bytes slot_size_;
  std::uint64_t seed_;
  std::vector<std::vector<View>> views_;  // by link
  std::vector<FlowPackets> flows_;
  std::vector<QueuePairNumbers> queue_pairs_;
  std::vector<MessageNumbers> messages_;
  std::map<ConnectionKey, std::uint32_t> writes_;
  std::map<LinkId, Renewal> renewals_;  // by the link that is paused
  Pending pending_;                     // by time
};

}  // namespace gradhaul
