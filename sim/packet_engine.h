#pragma once

// The plain engine: steps the links of a Fabric packet by packet with an event wheel. Simple before
// it is quick; the oracle of every faster engine. What a packet does before its first link and
// after its last is the business of an Endpoints (NICs, GPUs); in between the rules are these:
//
//  - A packet is a train of units without gaps (TLPs on PCIe, itself elsewhere). It is ready at the
//    next link as soon as that link could send it without running dry:
//      ready = start + latency + max(0, time on this link - time on the next)
//    and where a network wire is slower than the next, only when it is there whole.
//  - A free link starts the packet that was ready first, ties by ingress link, then in order of
//    arrival. On PCIe a class that lacks credits is passed by others, but no read request passes a
//    posted write.
//  - InfiniBand credits must be there for the whole packet. PCIe credits are needed TLP by TLP as
//  the
//    train goes; a train that would outrun them is cut and continues when more are back. While
//    three quarters of the window wait at the far end, pieces of less than a packet are not sent.
//  - A unit's credit is given back when it leaves the buffer, or at once where the last link ends
//  in
//    something that takes all at once.

#include <cstdint>
#include <vector>

#include "sim/credit_returns.h"
#include "sim/event_wheel.h"
#include "sim/fabric.h"
#include "sim/link_digest.h"
#include "sim/trace_parts.h"

namespace gradhaul {

using FlowId = std::int32_t;
using PacketId = std::int32_t;
inline constexpr std::int32_t kNone = -1;

// Packets of one kind between two ends, in order, over one route.
struct FlowSpec {
  Route route;
  TrafficClass traffic_class = TrafficClass::kPosted;
  std::uint8_t kind = 0;               // for Endpoints
  bool data = false;                   // counts packet hops
  bool notify_start = false;           // Endpoints hears when a packet starts on the first link
  bool endpoint_keeps_buffer = false;  // credits of the last link are given back by what follows
};

struct Packet {
  std::int64_t ready = 0;
  std::int64_t sequence = 0;  // within its flow
  std::int32_t next = kNone;
  FlowId flow = kNone;
  std::int32_t message = kNone;  // Endpoints' own
  std::int32_t payload = 0;
  std::int32_t extra = 0;          // bytes beside payload and the hop's overhead
  std::int32_t asked = 0;          // payload that a read request asks for
  LinkId ingress = kNoLink;        // whose far-end buffer it fills
  std::int32_t ingress_units = 0;  // how much of it, in that link's credits
  std::int32_t trace = kNone;
  std::int16_t hop = 0;
  std::int16_t units = 1;  // where the hop's unit is the whole packet: read requests may be several
  bool last_part = true;   // the end of the packet; false for a piece cut off its front
  bool last_of_message = false;
};

class Endpoints {
 public:
  // A packet with notify_start has begun on its first link.
  virtual void on_first_start(const Packet& packet, std::int64_t now) = 0;
  // The packet's last bit will be there at `delivered`, which is known now. It is gone afterwards.
  virtual void on_delivery(const Packet& packet, std::int64_t delivered) = 0;
  virtual void on_event(std::uint32_t kind, std::int32_t index) = 0;

 protected:
  ~Endpoints() = default;
};

struct LinkState {
  std::int64_t free = 0;  // ps: when the transmitter is idle
  std::int64_t carry = 0;
  std::int64_t wake = INT64_MAX;  // a wake is scheduled for then
  std::int32_t head[kTrafficClasses] = {kNone, kNone, kNone};
  std::int32_t tail[kTrafficClasses] = {kNone, kNone, kNone};
  std::uint8_t waiting = 0;  // classes with packets
  bool listed = false;       // in the list of starts of this instant
  CreditReturns credits[kTrafficClasses];
  LinkDigest digest;
  std::int64_t busy_total = 0;
  std::int64_t payload_total = 0;
  // Time with a packet ready that could not start, and the part of it without credits.
  std::int64_t backlog_since = -1;
  std::int64_t backlog_total = 0;
  std::int64_t stall_since = -1;
  std::int64_t stall_total = 0;
};

class PacketEngine {
 public:
  PacketEngine(const Fabric& fabric, Endpoints& endpoints);

  // Before the run, in a fixed order.
  FlowId add_flow(const FlowSpec& spec);

  std::int64_t now() const { return now_; }
  // Puts a packet before its flow's first link at `ready`; hop, sequence and flow are filled in.
  void send(FlowId flow, Packet packet, std::int64_t ready);
  // Endpoints::on_event(kind, index) at `time`; kinds from 0, indices below 2^26.
  void schedule(std::int64_t time, std::uint32_t kind, std::int32_t index);
  // Where an endpoint that kept a buffer lets go of it with no packet following.
  void release(LinkId ingress, std::int32_t units, std::int64_t time, ResourceId culprit);

  std::int32_t add_trace();
  Trace& trace(std::int32_t index) { return traces_[static_cast<std::size_t>(index)]; }
  void drop_trace(std::int32_t index) { free_traces_.push_back(index); }

  // Why run() came back.
  enum class Pause : std::uint8_t { kIdle, kLimit, kStopped, kBudget };
  // Runs all events up to and including `limit`, until nothing is left to do, stop() or so many
  // events; where it pauses changes nothing in what happens.
  Pause run(std::int64_t limit, std::int64_t budget = INT64_MAX);
  // Ends run() within this instant, before its starts.
  void stop() { stopped_ = true; }

  const LinkState& state(LinkId link) const { return states_[static_cast<std::size_t>(link)]; }
  std::int64_t backlog_total(LinkId link) const;
  std::int64_t stall_total(LinkId link) const;
  std::uint8_t kind(FlowId flow) const { return flows_[static_cast<std::size_t>(flow)].kind; }
  // Its first link; kNoLink for a flow that takes no time.
  LinkId first_link(FlowId flow) const;
  int length(FlowId flow) const { return flows_[static_cast<std::size_t>(flow)].hops; }
  LinkId link_of(FlowId flow, int hop) const {
    return hops_[static_cast<std::size_t>(flows_[static_cast<std::size_t>(flow)].first_hop + hop)]
        .link;
  }
  std::int64_t packet_hops() const { return packet_hops_; }
  // Bytes that data flows took in and put out; equal when nothing is on its way.
  std::int64_t payload_sent() const { return payload_sent_; }
  std::int64_t payload_delivered() const { return payload_delivered_; }

 private:
  struct Flow {
    std::int32_t first_hop = 0;
    std::int32_t hops = 0;
    std::int64_t next_sequence = 0;
    TrafficClass traffic_class = TrafficClass::kPosted;
    std::uint8_t kind = 0;
    bool data = false;
    bool notify_start = false;
    bool endpoint_keeps_buffer = false;
  };
  struct FlowHop {
    LinkId link = kNoLink;
    std::int32_t unit = 0;
    std::int32_t overhead = 0;
    std::int32_t ordinal = 0;
    std::int64_t last_sequence = 0;
    bool next_is_slower = true;  // the next link takes as long or longer: no waiting for the tail
    bool next_wants_whole = false;
  };
  struct Attempt {           // to start the packet at the head of a class
    std::int64_t units = 0;  // that can go now; 0: none
    std::int64_t retry = INT64_MAX;
  };

  Packet& packet(PacketId id) { return packets_[static_cast<std::size_t>(id)]; }
  FlowHop& hop_of(const Packet& p) {
    return hops_[static_cast<std::size_t>(flows_[static_cast<std::size_t>(p.flow)].first_hop +
                                          p.hop)];
  }
  PacketId add_packet(const Packet& packet);
  static std::int64_t units_on(const FlowHop& hop, const Packet& packet);
  static std::int64_t wire_bytes(const FlowHop& hop, const Packet& packet);
  std::int64_t credits_needed(LinkId link, const FlowHop& hop, const Packet& packet) const;

  void handle(const Event& event);
  void arrive(PacketId id);
  void list_start(LinkId link);
  void wake_at(LinkId link, std::int64_t time);
  void run_starts();
  void try_start(LinkId link);
  Attempt attempt(LinkId link, int traffic_class);
  PacketId cut(LinkId link, int traffic_class, std::int64_t units);
  PacketId take_head(LinkId link, int traffic_class);
  void start(LinkId link, PacketId id);
  void give_back(const Packet& packet, std::int64_t serialisation, ResourceId culprit);
  void go_on(PacketId id, LinkId link, std::int64_t serialisation);
  void trace_start(const Packet& packet, LinkId link);

  const Fabric& fabric_;
  Endpoints& endpoints_;
  EventWheel wheel_;
  std::vector<LinkState> states_;
  std::vector<Flow> flows_;
  std::vector<FlowHop> hops_;
  std::vector<std::int32_t> flows_on_link_;
  std::vector<Packet> packets_;
  std::vector<PacketId> free_packets_;
  std::vector<Trace> traces_;
  std::vector<std::int32_t> free_traces_;
  std::vector<LinkId> starts_;
  std::int64_t now_ = 0;
  bool stopped_ = false;
  std::int64_t packet_hops_ = 0;
  std::int64_t payload_sent_ = 0;
  std::int64_t payload_delivered_ = 0;
};

}  // namespace gradhaul
