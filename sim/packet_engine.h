#pragma once

// The plain engine: steps the links of a Fabric packet by packet with an event wheel. Simple before
// it is quick; the oracle of what is faster. Where a world allows it, stations step the links of
// NICs and the wires between them instead (sim/stations.h), by the same rules. What a packet does
// before its first link and after its last is the business of an Endpoints (NICs, GPUs); in between
// they are these:
//
//  - A packet is a train of units without gaps (TLPs on PCIe, itself elsewhere). It is ready at the
//    next link as soon as that link could send it without running dry:
//      ready = start + latency + max(0, time on this link - time on the next)
//    and where a network wire is slower than the next, only when it is there whole.
//  - A free link starts the packet that was ready first, ties by flow, then in order of arrival. On
//  PCIe a class that lacks credits is passed by others, but no read request passes a
//    posted write.
//  - InfiniBand credits must be there for the whole packet. PCIe credits are needed TLP by TLP as
//    the train goes; a train that would outrun them is cut and continues when more are back. While
//    of three quarters of the window it is not known when they will be back, pieces of less than a
//    packet are not sent. Before a faster link trains are no longer than a third of the window.
//  - A link whose packets all come from one other link gets them in the order in which they will be
//    ready. When such a packet starts is decided as soon as it is on its way, if its credits
//    suffice and nobody waits there; and with that it is known when the buffer before will be free
//    of it. Only else is its arrival an event.
//  - A lossless Ethernet receiver whose buffer fills has the transmitter pause (PFC): the frame
//  waits
//    for the one that goes the other way, crosses the cable, and is heeded some time later. What is
//    being sent is finished.
//  - A unit's credit is given back when it leaves the buffer, or at once where the last link ends
//    in something that takes all at once. The units of a train that waits for a slower link behind
//    it leave one by one as they come.
//  - An Ethernet port that nobody pauses, or not in time, drops what does not fit into a buffer
//    (sim/dropping_buffers.h), as it comes to wait or as it starts on the link to there.
//  - Where a packet may go several ways, the switch chooses when it comes (sim/packet_ways.cpp).
//  - A packet that a link loses (sim/link_losses.h) is on it as long as any other. The far end
//    drops it, and its buffer is free at once.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/copies.h"
#include "sim/dropping_buffers.h"
#include "sim/event_wheel.h"
#include "sim/fabric.h"
#include "sim/link_losses.h"
#include "sim/link_state.h"
#include "sim/lossless_buffers.h"
#include "sim/packet.h"
#include "sim/packet_observer.h"
#include "sim/trace_parts.h"

namespace gradhaul {

struct LinkTotals {
  LinkDigest digest;
  std::int64_t busy = 0;     // ps
  std::int64_t payload = 0;  // bytes
  std::int64_t extra = 0;    // bytes
  std::int64_t stall = 0;    // ps
};

// What an engine has added up by some moment.
struct PacketEngineTotals {
  std::vector<LinkTotals> links;
  std::int64_t now = 0;
  std::int64_t elapsed = 0;
  std::int64_t packet_hops = 0;
  std::int64_t payload_sent = 0;
  std::int64_t payload_delivered = 0;
  std::vector<LosslessBuffers::Totals> pauses;  // by link; none where nothing is lossless
};

class PacketTransport;
class Stations;      // sim/stations.h
struct StationPlan;  // sim/station_plan.h

class PacketEngine {
 public:
  PacketEngine(const Fabric& fabric, Endpoints& endpoints, const Copies& copies = {});
  ~PacketEngine();
  PacketEngine(const PacketEngine&) = delete;
  PacketEngine& operator=(const PacketEngine&) = delete;

  // Before the run, in a fixed order.
  FlowId add_flow(const FlowSpec& spec);
  // Settles which packets are marked where queues grow, and which are lost.
  void draw_by(std::uint64_t seed) {
    seed_ = seed;
    losses_.draw_by(seed);
  }
  // Which link stands for the one that the fabric has pause frames of this one go by.
  void send_pauses_by(LinkId link, LinkId way) {
    pause_ways_[static_cast<std::size_t>(link)] = way;
  }

  // After all flows and connections: has stations step what the plan names. Then run() may throw
  // EventsNeeded, and the run has to be begun anew without.
  void step_by_stations(const StationPlan& plan, PacketTransport& transport);
  bool by_stations() const { return stations_ != nullptr; }
  void stretch_windows(int times);
  // Whether a station has the injector go on at `time`, without an event.
  bool wakes_by_station(std::int32_t injector, std::int64_t time);
  // Whether a station asks for what the injector may send now, and has done so.
  bool transmits_by_station(std::int32_t injector);

  // Tells of the link's packets, which costs what is not watched nothing. One observer for all.
  void watch(LinkId link, PacketObserver& observer) {
    observer_ = &observer;
    link_state(link).watched = true;
  }

  // The engine's clock, which everything it tells and is told refers to; it stands still while
  // periods are repeated.
  std::int64_t now() const { return now_; }
  // Time since the start of the run, repeated periods included.
  std::int64_t elapsed() const { return now_ + repeated_time_; }
  std::int64_t repeated_time() const { return repeated_time_; }
  // Puts a packet before its flow's first link at `ready`; hop, sequence and flow are filled in.
  void send(FlowId flow, const Packet& packet, std::int64_t ready);
  // Endpoints::on_event(kind, index) at `time`; indices below 2^27. Of the same instant those of
  // lower kind come first, then those of lower place; what is scheduled within its own instant
  // comes when all that was there before has been handled.
  void schedule(std::int64_t time, std::uint32_t kind, std::int32_t index, std::int32_t place);
  // Where an endpoint that kept a delivered packet's buffer lets go of it with no packet following.
  void release(const Packet& delivered, std::int64_t time, ResourceId culprit);

  std::int32_t add_trace();
  Trace& trace(std::int32_t index) { return traces_[static_cast<std::size_t>(index)]; }
  void drop_trace(std::int32_t index) { free_traces_.push_back(index); }

  // Why run() came back.
  enum class Pause : std::uint8_t { kIdle, kLimit, kStopped, kBudget, kInstant };
  // Runs all events up to and including `limit`, until nothing is left to do, stop() or so many
  // events; where it pauses changes nothing in what happens.
  Pause run(std::int64_t limit, std::int64_t budget = INT64_MAX);
  // Ends run() within this instant, before its starts.
  void stop() { stopped_ = true; }
  // Ends run() when all of this instant is done.
  void pause_after_instant() { pause_after_instant_ = true; }

  const LinkState& state(LinkId link) const { return states_[static_cast<std::size_t>(link)]; }
  std::int64_t backlog_total(LinkId link) const;
  std::int64_t stall_total(LinkId link) const;
  // The same with repeated periods.
  std::int64_t stall_elapsed(LinkId link) const {
    return stall_total(link) + state(link).repeated_stall;
  }
  // What a link that cannot start has been waiting for, as seen from a copy of it; and how to call
  // that.
  ResourceId stall_culprit(LinkId link, int traffic_class) const;
  Cause stall_cause(LinkId link) const {
    if (!state(link).lossless) return Cause::kCredits;
    return buffers_.stormed(link) ? Cause::kStorm : Cause::kPaused;
  }
  const LosslessBuffers& buffers() const { return buffers_; }
  const DroppingBuffers& dropping() const { return dropping_; }
  const LinkLosses& losses() const { return losses_; }
  // Of a lossless link, repeated periods included.
  LosslessBuffers::Totals pauses(LinkId link) const { return buffers_.totals(link, now_); }
  std::uint8_t kind(FlowId flow) const { return flows_[static_cast<std::size_t>(flow)].kind; }
  // Its first link; kNoLink for a flow that takes no time.
  LinkId first_link(FlowId flow) const;
  int length(FlowId flow) const { return flows_[static_cast<std::size_t>(flow)].hops; }
  LinkId link_of(FlowId flow, int hop) const { return hop_of(flow, hop).link; }
  // The link's resource, and which copy of the link it is, as the flow counts copies.
  ResourceId resource_of(FlowId flow, int hop) const { return resource_of(hop_of(flow, hop)); }
  int copy_of(FlowId flow, int hop) const { return hop_of(flow, hop).copy; }
  // Of a packet that has come to its end: the last link but one that it came by.
  LinkId link_before_last(const Packet& delivered) const {
    return hops_[static_cast<std::size_t>(delivered.hop - 1)].link;
  }
  const Copies& copies() const { return copies_; }
  // Hops that were simulated, and those of repeated periods.
  std::int64_t packet_hops() const { return packet_hops_; }
  std::int64_t repeated_hops() const { return repeated_hops_; }
  // All events handled so far.
  std::int64_t events() const { return events_; }
  // Bytes that data flows took in, put out and lost; the first is the sum of the others when
  // nothing is on its way.
  std::int64_t payload_sent() const { return payload_sent_; }
  std::int64_t payload_delivered() const { return payload_delivered_; }
  std::int64_t payload_lost() const { return payload_lost_; }

  // For whoever looks for periods, between instants. What decides about the future: until when
  // links are busy and how much is on its way, which is mostly enough to see that it isn't as it
  // was; and all of it together with that.
  void append_timing(StateWords& words) const;
  void append_state(StateWords& words) const;
  PacketEngineTotals totals() const;
  // The state being the same: whether what each link serves next also follows what it served last
  // as it did then.
  bool continues_like(const PacketEngineTotals& since) const;
  // Adds what has been added since `since` so many times more.
  void repeat(const PacketEngineTotals& since, std::int64_t times);

 private:
  friend class Stations;
  struct Flow {
    std::int32_t first_hop = 0;
    std::int32_t hops = 0;
    std::int64_t next_sequence = 0;
    std::int16_t ways = 1;
    std::int16_t spines = 1;
    std::uint8_t kind = 0;
    bool data = false;
  };
  // One link of one flow; those of a flow follow each other, way by way.
  struct alignas(64) FlowHop {
    LinkId link = kNoLink;
    std::int32_t unit = 0;
    std::int32_t overhead = 0;
    std::int32_t ordinal = 0;
    std::int64_t last_sequence = 0;
    int copy = 0;
    std::uint8_t traffic_class = 0;
    bool first : 1 = false;
    bool last : 1 = false;
    bool data : 1 = false;
    bool notify_start : 1 = false;
    bool endpoint_keeps_buffer : 1 = false;
    bool next_is_slower : 1 =
        true;  // the next link takes as long or longer: no waiting for the tail
    bool next_wants_whole : 1 = false;
    bool chooses : 1 = false;  // the switch before it may take another way
    TrainForm form;
  };
  static_assert(sizeof(FlowHop) == 64);
  struct Attempt {           // to start the packet at the head of a class
    std::int64_t units = 0;  // that can go now; 0: none
    std::int64_t retry = INT64_MAX;
  };

  Packet& packet(PacketId id) { return packets_[static_cast<std::size_t>(id)]; }
  FlowHop& hop_of(const Packet& p) { return hops_[static_cast<std::size_t>(p.hop)]; }
  LinkState& link_state(LinkId link) { return states_[static_cast<std::size_t>(link)]; }
  PacketId add_packet(const Packet& packet);
  const TrainForm& form_of(FlowHop& hop, const Packet& p) {
    if (hop.form.key != form_key(p)) compute_form(hop, p);
    return hop.form;
  }
  void compute_form(FlowHop& hop, const Packet& packet);

  Pause run_events(std::int64_t limit, std::int64_t budget);
  void handle(const Event& event);
  void begin_round();
  void arrive(PacketId id);
  void add_hops(const FlowSpec& spec, const Route& route);
  void add_other_ways(const FlowSpec& spec, Flow& flow);
  void choose_way(Packet& packet);
  bool is_down(LinkId link) const;
  std::int64_t load_of(LinkId link) const;
  void add_feeder(const RouteHop& hop, LinkId feeder, int feeder_copy);
  const FlowHop& hop_of(FlowId flow, int hop) const {
    return hops_[static_cast<std::size_t>(flows_[static_cast<std::size_t>(flow)].first_hop + hop)];
  }
  void queue(PacketId id);
  bool try_ahead(LinkId link, LinkState& state, PacketId id);
  void schedule_arrival(PacketId id, const Packet& arriving);
  void list_start(LinkId link);
  void wake_at(LinkId link, std::int64_t time);
  void run_starts();
  void try_start(LinkId link);
  int choose(LinkState& state, Attempt& best, std::int64_t& retry);
  Attempt attempt(LinkState& state, int traffic_class);
  Attempt attempt_train(LinkState& state, int traffic_class, const TrainForm& form,
                        std::int64_t most);
  bool may_go_whole(LinkState& state, int traffic_class, const FlowHop& hop, const TrainForm& form,
                    std::int64_t time) const;
  std::int64_t longest_train(const LinkState& state, int traffic_class, const FlowHop& hop,
                             const TrainForm& form) const;
  PacketId cut(LinkState& state, int traffic_class, std::int64_t units);
  PacketId take_head(LinkState& state, int traffic_class);
  void start(LinkId link, PacketId id);
  // What both ways of stepping do with a packet, here and in sim/stations.cpp: it comes in; it is
  // served from `start` on; it may go on so much later than its head; it has been delivered.
  void number(FlowId flow, Packet& packet, std::int64_t ready);
  static std::int64_t serialise(LinkState& state, const TrainForm& form, std::int64_t start);
  void count_served(LinkState& state, FlowHop& hop, const Packet& packet, std::int64_t start,
                    std::int64_t serialisation);
  std::int64_t wait_for_tail(FlowHop& hop, const Packet& packet, std::int64_t serialisation);
  void count_delivered(const FlowHop& hop, const Packet& packet, std::int64_t serialisation);
  // That the link will have been backed up, of a start that is decided ahead.
  static void count_backlog(LinkState& state, const Packet& packet, std::int64_t start);
  void observe_start(LinkId link, const Packet& started, const FlowHop& hop,
                     std::int64_t serialisation);
  static std::int64_t wire_bytes(const FlowHop& hop, const Packet& p, std::int64_t units) {
    return p.payload + units * hop.overhead + p.extra;
  }
  void give_back(const Packet& packet, std::int64_t was_free, std::int64_t serialisation,
                 ResourceId culprit, bool stormed);
  void leave_buffer(const Packet& packet, std::int64_t time, ResourceId culprit,
                    bool stormed = false);
  bool keeps_waiting(PacketId id, LinkId link);
  bool fill_buffers(LinkId link, Packet& started, std::int64_t serialisation);
  void discard(PacketId id, LinkId link);
  void mark(LinkId link, Packet& arrived);
  void ask_for_looks();
  void look_at_buffer(LinkId link);
  void send_pause(const LosslessBuffers::Order& order);
  void heed_pause(LinkId link, bool pause);
  void schedule_storms(LinkId link);
  void storm(LinkId link, bool begins);
  std::int64_t first_unit_leaves(FlowHop& before, const Packet& leaving, std::int64_t was_free,
                                 std::int64_t serialisation);
  std::int64_t tail_wait(FlowHop& hop, const Packet& packet, std::int64_t serialisation);
  void go_on(PacketId id, LinkId link, std::int64_t serialisation);
  void arrive_at_end(PacketId id, LinkId link, std::int64_t serialisation);
  bool lose(PacketId id, LinkId link, std::int64_t serialisation);
  void empty_far_buffer(Packet& moved, LinkId link, std::int64_t serialisation);
  void free(PacketId id) {
    packet(id).next = free_packet_;
    free_packet_ = id;
  }
  void trace_start(const Packet& packet, LinkId link);
  ResourceId resource_of(const FlowHop& hop) const {
    return copies_.seen(states_[static_cast<std::size_t>(hop.link)].resource, hop.copy);
  }
  void blame_link(Trace& parts, const FlowHop& hop, Cause cause, std::int64_t ps) const {
    parts.add(copies_.seen(resource_of(hop), parts.shift), cause, ps);
  }
  void append_packet(StateWords& words, const Packet& packet, LinkId queued_at) const;
  void append_events(StateWords& words) const;

  const Fabric& fabric_;
  Endpoints& endpoints_;
  Copies copies_;
  PacketObserver* observer_ = nullptr;
  EventWheel wheel_;
  std::unique_ptr<Stations> stations_;  // none: events step everything
  std::vector<Event> next_round_;       // of this instant
  LosslessBuffers buffers_;
  DroppingBuffers dropping_;
  LinkLosses losses_;
  std::uint64_t seed_ = 1;
  std::vector<std::int64_t> choices_;  // by the first link there is to choose; none where no way is
  std::vector<int> open_ways_;         // of the choice at hand
  std::vector<LinkId> pause_ways_;     // by link
  std::vector<LosslessBuffers::Order> orders_;
  std::vector<LinkState> states_;
  std::vector<Flow> flows_;
  std::vector<FlowHop> hops_;
  std::vector<std::int32_t> flows_on_link_;
  std::vector<LinkId> used_links_;  // by some flow, ascending
  std::vector<Packet> packets_;
  PacketId free_packet_ = kNone;  // the rest follow by Packet::next
  std::vector<Trace> traces_;
  std::vector<std::int32_t> free_traces_;
  std::vector<LinkId> links_by_turn_;
  std::vector<std::int32_t> starts_;  // turns of links; room for all
  std::size_t start_count_ = 0;
  std::vector<std::int32_t> starting_;
  bool in_starts_ = false;
  bool ahead_ = false;  // now_ is the start that is being decided, not the time of the run
  std::int64_t now_ = 0;
  bool stopped_ = false;
  bool pause_after_instant_ = false;
  std::int64_t events_ = 0;
  std::int64_t packet_hops_ = 0;
  std::int64_t repeated_hops_ = 0;
  std::int64_t repeated_time_ = 0;
  std::int64_t payload_sent_ = 0;
  std::int64_t payload_delivered_ = 0;
  std::int64_t payload_lost_ = 0;
};

}  // namespace gradhaul
