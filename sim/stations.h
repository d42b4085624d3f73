#pragma once

// The quick way of stepping the links of NICs and wires, beside the plain engine (which goes on
// stepping all else, and is the oracle): no event for each packet, but station after station in the
// order in which data flows, each for as long a window as nothing that happens meanwhile can reach
// it. Links, framing, ties and blame are those of sim/packet_engine.h; what is known of these
// worlds (sim/station_plan.h) makes the rest simple:
//
//  - A link serves what comes to it by (ready, number of the flow), each as soon as it is ready and
//    the link free.
//  - The second link of a pair, and the pair by which answers come, are served by nobody else in
//    between: what becomes of a packet there is settled as it starts on the first.
//  - A NIC's wire and the link it reads and writes by are one station, since a packet that starts
//    on the one makes a request for the other at the same instant. What comes in from the network
//    gets there later than a window lasts.
//  - Credits are always there in time. That is watched (sim/credit_watch.h), not assumed: else the
//    run ends with CreditsRanOut, and events have to step the world from its beginning.
//
// Events of messages stay where they are, in the engine's wheel. Stations are stepped up to, and
// not including, the next one; so events of an instant come before its starts, as ever.

#include <cstdint>
#include <vector>

#include "sim/credit_watch.h"
#include "sim/packet_engine.h"
#include "sim/packet_ring.h"
#include "sim/station_plan.h"

namespace gradhaul {

class Stations {
 public:
  // After all flows have been added. `wake`: the endpoints' event by which an injector goes on.
  Stations(PacketEngine& engine, const StationPlan& plan, std::uint32_t wake);

  // Whether packets of this flow are stepped here.
  bool takes(FlowId flow) const { return entries_[static_cast<std::size_t>(flow)].kind != kOther; }
  void send(FlowId flow, const Packet& packet, std::int64_t ready);
  // Everything before `limit`, or before an event that comes sooner.
  void advance(std::int64_t limit);
  // Has the injector go on at `time`, if that is sooner than what it waits for; false: it is none
  // of a station.
  bool wake_at(std::int32_t injector, std::int64_t time);
  // Of a NIC's wire: since when packets wait, as of the engine's time.
  void settle_backlog(LinkId out);
  // The buffer of a delivered packet is left at `time`.
  void release(const Packet& delivered, std::int64_t time);
  void append_state(StateWords& words) const;
  void stretch_windows(int times) { window_ *= times; }

 private:
  enum Kind : std::uint8_t { kOther, kRing, kAnswer };
  // Where packets of a flow come in.
  struct Entry {
    Kind kind = kOther;
    std::int32_t ring = kNone;
    std::int32_t station = kNone;
  };
  struct Nic {
    StationPlan::Nic links;
    std::int64_t next = INT64_MAX;  // it does nothing before
    std::int64_t wake = INT64_MAX;
    std::int32_t out_rings[3] = {kNone, kNone, kNone};  // data, credits, acknowledgements
    std::int32_t up_rings[2] = {kNone, kNone};          // requests, writes
    // Of each pair, of the link that has fewer, and takes longer to give them back.
    TrainCredits writes;
    TrainCredits requests;
    TrainCredits answers;
    std::int64_t whole_writes = INT64_MAX;  // TLPs of a train that the last link would not cut
  };
  struct Wire {
    LinkId link = kNoLink;
    std::int64_t next = INT64_MAX;
    std::vector<std::int32_t> rings;  // one for each link that leads here
  };
  struct Next {  // way to leave a link
    PacketRing* ring = nullptr;
    std::int64_t start = INT64_MAX;
  };

  void add_nics(const StationPlan& plan);
  void watch(TrainCredits& credits, const LinkId (&pair)[2], int traffic_class) const;
  void add_wires(const StationPlan& plan);
  void add_entries(const StationPlan& plan);
  Entry entry_of(FlowId flow) const;
  std::int32_t add_ring();
  template <typename Rings>
  Next next_of(LinkId link, const Rings& rings);
  void step(Nic& nic, std::int64_t end);
  void step(Wire& wire, std::int64_t end);
  void leave_nic(Nic& nic, PacketRing& ring, std::int64_t start);
  void leave_up(Nic& nic, PacketRing& ring, std::int64_t start);
  void answer(Nic& nic, Packet& packet);
  void cross(Packet& packet, LinkId link, std::int64_t start);
  std::int64_t serve(Packet& packet, LinkId link, std::int64_t start);
  std::int64_t serve_pair(Packet& packet, const LinkId (&links)[2], std::int64_t start);
  void count(const Packet& packet, LinkId link, std::int64_t start, std::int64_t serialisation);
  void deliver(Packet& packet, LinkId link, std::int64_t start, std::int64_t serialisation);
  std::int64_t next_action() const;

  PacketEngine& engine_;
  std::uint32_t wake_;
  std::int64_t window_;
  std::int64_t clock_ = 0;  // everything before has happened
  std::vector<PacketRing> rings_;
  std::vector<Nic> nics_;
  std::vector<Wire> wires_;
  std::vector<Entry> entries_;                 // by flow
  std::vector<WireCredits> credits_;           // by link
  std::vector<std::int32_t> nic_of_out_;       // by link
  std::vector<std::int32_t> nic_of_injector_;  // by injector
  // By link of a wire that others lead into: its station, and the ring for each of them.
  std::vector<std::int32_t> wire_of_;
  std::vector<std::vector<std::pair<LinkId, std::int32_t>>> ring_from_;
};

}  // namespace gradhaul
