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
//    between: what becomes of a packet there is settled as it starts on the first, and what the
//    second link has done is told when the engine pauses (sim/mirrored_link.h).
//  - A packet that starts on a NIC's wire makes a request for the link that the NIC reads and
//    writes by at the same instant; data come a read latency later. So as long as a NIC asks for
//    plain packets only, its wire is stepped for up to that latency, and then the link to the GPU.
//    Where it goes on to another message, which looks at how its links have done, the NIC is
//    stepped as a whole.
//  - Credits are always there in time, no port of Ethernet holds so much that it pauses another,
//    and nothing waits so long that it is marked. That is watched (sim/credit_watch.h), not
//    assumed: else the run ends with EventsNeeded, and has to be begun anew. Where the credits of
//    wires ran out, stations then wait for them (sim/credit_gate.h); else events step the world.
//  - Of plain packets (sim/plain_hop.h) all is known beforehand but when: the transport, which
//    would do nothing else with them than ask for the next, is not called.
//
// Events of messages stay where they are, in the engine's wheel. Each station has a clock of its
// own and tells until when nothing that it does is seen outside (sim/stations_quiet.cpp; plain
// packets never are): so long events are handled without it. Before one that it has to do with, it
// is stepped up to that time, and not including it; so events of an instant come before its starts,
// as ever. What feeds it is stepped before (sim/stations_order.cpp), all others are not.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/credit_gate.h"
#include "sim/credit_watch.h"
#include "sim/earliest_of.h"
#include "sim/mirrored_link.h"
#include "sim/packet_engine.h"
#include "sim/plain_hop.h"
#include "sim/serving_link.h"
#include "sim/station_plan.h"
#include "sim/waiting_ring.h"

namespace gradhaul {

class PacketTransport;
struct Injector;
struct Message;

class Stations {
 public:
  // After all flows have been added and all connections opened.
  Stations(PacketEngine& engine, const StationPlan& plan, PacketTransport& transport);

  // Whether packets of this flow are stepped here.
  bool takes(FlowId flow) const { return entries_[static_cast<std::size_t>(flow)].kind != kOther; }
  void send(FlowId flow, const Packet& packet, std::int64_t ready);
  // Everything before `limit`, or before an event that comes sooner.
  void advance(std::int64_t limit);
  // Events up to then may be handled before any station goes on.
  std::int64_t quiet() const { return quiet_.time(); }
  // All that happens before the engine's time: everywhere, or at the station that has this link.
  void catch_up();
  void catch_up(LinkId link);
  // Has the injector go on at `time`, if that is sooner than what it waits for; false: it is none
  // of a station.
  bool wake_at(std::int32_t injector, std::int64_t time);
  // Has it ask for what it may send now; false: it is none of a station.
  bool transmit(std::int32_t injector);
  // Of a NIC's wire: since when packets wait, as of the engine's time.
  void settle_backlog(LinkId out);
  // Counts what has been served; the second links of pairs have done all that the first have.
  void settle();
  // Whether credits of wires are waited for, and given back as ever.
  bool waits() const { return waits_; }
  // Else: the buffer of a delivered packet is left at `time`.
  void release(const Packet& delivered, std::int64_t time) {
    release(delivered.ingress, delivered.ingress_units, time);
  }
  void append_state(StateWords& words) const;
  void stretch_windows(int times);

 private:
  enum Kind : std::uint8_t { kOther, kRing, kAnswer };
  // Where packets of a flow come in.
  struct Entry {
    Kind kind = kOther;
    WaitingRing* ring = nullptr;
    std::int32_t nic = kNone;
  };
  struct Nic {
    StationPlan::Nic links;
    std::int64_t* next = nullptr;
    std::int64_t out_clock = 0;       // of its wire, which may be ahead of the rest
    std::int64_t unlike = INT64_MAX;  // until then it asks for plain packets only
    std::int64_t wake = INT64_MAX;
    LinkState* out = nullptr;
    CreditGate* gate = nullptr;  // before its wire; none where credits are not waited for
    LinkState* up = nullptr;     // the first of each pair
    LinkState* answer = nullptr;
    WaitingRing data;
    WaitingRing credits;
    WaitingRing acknowledgements;
    WaitingRing requests;
    WaitingRing writes;
    // Of each pair, of the link that has fewer, and takes longer to give them back.
    TrainCredits writes_under_way;
    TrainCredits requests_under_way;
    TrainCredits answers_under_way;
    std::int64_t whole_writes = INT64_MAX;  // TLPs of a train that the last link would not cut
    std::int64_t up_latency = 0;            // of both links
    std::int64_t answer_latency = 0;
    MirroredLink second_up;
    MirroredLink second_answer;

    std::int64_t out_ready() const {
      return std::min({data.ready(), credits.ready(), acknowledgements.ready()});
    }
    // But for credits.
    std::int64_t out_start() const { return std::max(out_ready(), out->free); }
    WaitingRing& first_out() {
      WaitingRing& other = acknowledgements.before(credits) ? acknowledgements : credits;
      return other.before(data) ? other : data;
    }
    std::int64_t up_start() const {
      const std::int64_t ready = std::min(requests.ready(), writes.ready());
      return ready == INT64_MAX ? ready : std::max(ready, up->free);
    }
  };
  // A message whose packets a NIC asks for.
  struct Stream {
    std::int32_t index = kNone;
    Message* message = nullptr;
    const PlainLane* lane = nullptr;
    PlainHop* request = nullptr;
    PlainHop* completion = nullptr;
    PlainHop* wire = nullptr;
    std::int64_t left = 0;  // plain packets to ask for
  };
  struct Wire {
    LinkId link = kNoLink;
    LinkState* state = nullptr;
    CreditGate* gate = nullptr;  // as a NIC's
    std::int64_t* next = nullptr;
    std::vector<WaitingRing*> rings;  // one for each link that leads here
    // ps: so long a packet may wait that none can have been marked.
    std::int64_t longest_wait = INT64_MAX;
  };

  // A station from which packets come to another, which sees them so long after they start.
  struct Input {
    std::size_t station = 0;
    std::int64_t ahead = 0;
  };

  // Which station steps when, and how far: sim/stations_order.cpp.
  class Stepping;
  template <typename NicOrWire>
  std::size_t number_of(const NicOrWire& station) const {
    return static_cast<std::size_t>(station.next - next_.data());
  }
  // nullptr: the link is none of a wire's station.
  Wire* wire_of(LinkId link) {
    const std::int64_t wire =
        station_of_[static_cast<std::size_t>(link)] - static_cast<std::int64_t>(nics_.size());
    return wire < 0 ? nullptr : &wires_[static_cast<std::size_t>(wire)];
  }
  void bring(std::size_t station, std::int64_t least);
  std::int64_t bring_output(std::size_t station, std::int64_t least);
  void bring(Nic& nic, std::int64_t time);
  bool step_apart(Nic& nic, std::int64_t time);
  void bring(Wire& wire, std::int64_t come);
  void tell_credits(std::size_t station);
  void bring_all(std::int64_t time);
  void look_again(std::size_t station);

  // Stations.
  Nic* nic_of(std::int32_t injector);
  // How far they came, at most `end`: less where the wire waits for credits of which too little is
  // known.
  std::int64_t step(Nic& nic, std::int64_t end);
  std::int64_t step_out(Nic& nic, std::int64_t end);
  void step_up(Nic& nic, std::int64_t end);
  // Of what is ready before `come`, whatever starts before `end`; as above.
  std::int64_t step(Wire& wire, std::int64_t come, std::int64_t end);
  std::int64_t start_for_credits(CreditGate& gate, const WaitingPacket& first, std::int64_t due);
  void pause(Nic& nic, std::int64_t end);
  // Whether packets wait, of those that have come when one starts.
  static void note_backlog(LinkState& out, std::int64_t ready, std::int64_t start) {
    if (ready <= start) {
      if (out.backlog_since < 0) out.backlog_since = start;
    } else if (out.backlog_since >= 0) {
      out.backlog_total += start - out.backlog_since;
      out.backlog_since = -1;
    }
  }
  void leave_nic(Nic& nic, std::int64_t start);
  void leave_up(Nic& nic, std::int64_t start);
  std::int64_t start_behind(std::int64_t plain, const WaitingRing& ring, std::int64_t ready,
                            const LinkState& link, std::int64_t now) const;
  std::int64_t special_start(const WaitingRing& ring, const LinkState& link,
                             std::int64_t now) const;
  std::int64_t next_unlike(const Nic& nic, std::int64_t now) const;
  void touch(Nic& nic);
  void look_ahead(Nic& nic, std::int64_t now);
  void look_ahead(Wire& wire, std::int64_t now);
  void transmit_by_event(Nic& nic, std::int64_t now);
  // What is ready now has been asked for by an event, or by a packet that starts, and comes after
  // all that was asked for before at this instant: of one event, in the order of flows, as what is
  // to come does; of packets that start, in the order of asking.
  [[gnu::always_inline]] void wait_in(WaitingRing& ring, const WaitingPacket& waiting) const {
    if (asks_by_event_) return ring.push_after_standing(waiting);
    ring.push_behind(waiting);
  }
  // Plain packets: sim/stations_plain.cpp.
  std::int64_t plain_left(const Message& sending) const;
  Stream stream_of(std::int32_t message);
  Stream& known_stream(std::int32_t message);
  void transmit(Nic& nic, std::int64_t now);
  void ask(Nic& nic, Stream& stream, std::int64_t now);
  void leave_plainly(Nic& nic, std::int64_t end);
  void leave_up_plainly(Nic& nic, std::int64_t end);
  void read(Nic& nic, Stream& stream, ServingLink& up, ServingLink& answer, std::int64_t start);
  // What a wire takes its packets' credits from: one of the two.
  struct Credits {
    WireCredits* watched = nullptr;
    CreditGate* gate = nullptr;
  };
  Credits credits_of(LinkId wire) {
    const auto number = static_cast<std::size_t>(wire);
    if (waits_) return {nullptr, &gates_[number]};
    return {&credits_[number], nullptr};
  }
  bool wants_credits(LinkId wire) const {
    return !waits_ || gates_[static_cast<std::size_t>(wire)].guards();
  }
  void pass_on(const WaitingPacket& plain, PlainHop& form, const PlainWay& way,
               ServingLink& serving, Credits credits, std::int64_t start);
  void give_back(const WaitingPacket& plain, const PlainHop& form, std::int64_t time,
                 ResourceId held_up);
  void let_go(const PlainHop& form, const PlainWay& way, std::int64_t time);
  void cross(const WaitingPacket& plain, LinkState& link, std::int64_t start);
  template <typename Then>
  bool cross_all(WaitingRing& ring, LinkState& link, Credits credits, std::int64_t end,
                 std::int64_t other_ready, Then then);
  void write(Nic& nic, const WaitingPacket& plain, ServingLink& up, std::int64_t start);
  void settle(std::int32_t hop);
  // All others.
  Packet take(const WaitingPacket& special);
  void leave_up(Nic& nic, Packet& packet, bool request, std::int64_t start);
  void answer(Nic& nic, Packet& packet);
  void cross(Packet& packet, LinkId link, std::int64_t start);
  std::int64_t take_credits_and_serve(Packet& packet, LinkId link, std::int64_t start);
  void give_back(const Packet& leaving, std::int64_t start, std::int64_t serialisation,
                 ResourceId culprit);
  void empty_far_buffer(Packet& packet, LinkId link, std::int64_t start,
                        std::int64_t serialisation);
  std::int64_t serve(Packet& packet, LinkId link, std::int64_t start);
  std::int64_t serve_pair(Packet& packet, const LinkId (&links)[2], MirroredLink& second,
                          std::int64_t start);
  void trace(const Packet& packet, LinkId link, std::int64_t start);
  void deliver(Packet& packet, LinkId link, std::int64_t start, std::int64_t serialisation);
  [[gnu::always_inline]] void release(LinkId ingress, std::int64_t units, std::int64_t time) {
    credits_[static_cast<std::size_t>(ingress)].leave(time, units);
  }
  std::int64_t& sequence_of(std::int32_t hop) {
    return engine_.hops_[static_cast<std::size_t>(hop)].last_sequence;
  }

  // Before the run: sim/stations_setup.cpp.
  void add_nics(const StationPlan& plan);
  void add_wires(const StationPlan& plan);
  void add_inputs();
  void add_inputs(const Path& path);
  void add_gates();
  void add_entries();
  void add_lanes();
  void watch(TrainCredits& credits, const LinkId (&pair)[2], int traffic_class) const;
  void watch(LinkId wire);
  void leads_to(LinkId wire, std::size_t station);
  std::int64_t longest_wait(const LinkState& wire) const;
  Entry entry_of(FlowId flow);
  void add_lane(const Path& path, FlowId wire);
  void add_reads(PlainLane& lane, FlowId request, FlowId completion, const Packet& carrying);
  PlainHop& add_writes(PlainWay& way, FlowId write, const Packet& carrying);
  void give_back_after(PlainHop& plain, std::int32_t hop, int ingress_copy, std::int32_t order);
  std::int32_t first_hop(FlowId flow) const;
  std::int32_t ordinal(FlowId flow) const;
  PlainHop& add_plain_hop(std::int32_t hop, const Packet& packet);
  void add_way(std::int32_t hop, const Packet& packet);
  WaitingRing& ring_between(LinkId from, LinkId wire);

  PacketEngine& engine_;
  PacketTransport& transport_;
  std::int64_t window_;   // a NIC is stepped as a whole for so long, before it looks ahead again
  std::int64_t arrival_;  // as the plan has them
  std::int64_t crossing_;
  std::int64_t writing_;
  std::int64_t reading_;  // from a request to data before a NIC's wire, at least
  bool waits_ = false;
  bool stepping_ = false;
  bool asks_by_event_ = false;
  std::int32_t packet_payload_ = 0;  // of a plain packet
  std::int64_t read_latency_ = 0;
  std::int64_t receive_latency_ = 0;
  std::int64_t transmit_latency_ = 0;
  // By station, NICs before wires: everything before has happened; it does nothing before; it does
  // nothing that others see before.
  std::vector<std::int64_t> clocks_;
  std::vector<std::int64_t> next_;
  EarliestOf quiet_;
  std::vector<std::vector<Input>> inputs_;
  std::vector<std::vector<std::size_t>> outputs_;  // where what it sends fills buffers
  std::int64_t most_ = 0;                          // no station may be stepped further
  std::int64_t last_check_ = 0;                    // of credits, when all stations were there
  std::vector<Nic> nics_;
  std::vector<Wire> wires_;
  std::deque<WaitingRing> rings_;          // before wires
  std::vector<Entry> entries_;             // by flow
  std::vector<PlainLane> lanes_;           // by flow of the wire
  std::vector<PlainHop> plain_;            // by hop
  std::vector<std::int32_t> plain_hops_;   // those that are in use
  std::vector<PlainWay> ways_;             // by hop of a wire
  std::vector<Stream> streams_;            // of a NIC, while it is stepped
  std::vector<std::int32_t> second_hops_;  // of pairs
  std::vector<WireCredits> credits_;       // by link
  std::vector<CreditGate> gates_;          // by link, where they are waited for
  std::vector<WireCredits*> watched_credits_;
  std::vector<std::int32_t> station_of_;       // by link
  std::vector<std::int32_t> nic_of_injector_;  // by injector
  // By link of a wire that others lead into, the ring for each of them.
  std::vector<std::vector<std::pair<LinkId, WaitingRing*>>> ring_from_;
};

}  // namespace gradhaul
