#include "sim/packet_engine.h"

#include <algorithm>

#include "core/assert.h"
#include "core/infiniband_framing.h"
#include "sim/engine_events.h"
#include "sim/stations.h"

namespace gradhaul {
namespace {

LinkState initial_state(const Link& link) {
  LinkState state;
  state.rate = link.rate.unlimited() ? 0 : link.rate.bits_per_second;
  state.latency = link.latency.ps;
  state.resource = link.resource;
  state.unit_credits = link.kind == LinkKind::kPcie;
  state.ethernet = link.kind == LinkKind::kEthernet;
  state.lossless = link.pause.lossless();
  state.drops = link.drop.pool >= 0;
  state.spills = link.pause.spills || link.drop.receive.count > 0;
  state.marks = state.counts_queue = link.marks;
  state.loses = link.loses();
  // A loop shorter than the way there cannot be.
  state.return_after_leaving =
      state.unit_credits ? std::max<std::int64_t>(0, (link.credit_return - link.latency).ps)
                         : link.credit_return.ps;
  for (int c = 0; c < kTrafficClasses; ++c) {
    state.credits[c].start_with(link.window[c]);
  }
  return state;
}

}  // namespace

PacketEngine::PacketEngine(const Fabric& fabric, Endpoints& endpoints, const Copies& copies)
    : fabric_(fabric),
      endpoints_(endpoints),
      copies_(copies),
      buffers_(fabric),
      dropping_(fabric),
      losses_(fabric),
      flows_on_link_(fabric.links().size(), 0) {
  for (const Link& link : fabric.links()) {
    states_.push_back(initial_state(link));
    pause_ways_.push_back(link.pause.reverse);
    schedule_storms(static_cast<LinkId>(states_.size()) - 1);
  }
  starts_.resize(states_.size());
  links_by_turn_.resize(states_.size());
  const std::vector<std::int32_t> turns = fabric.turns();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].turn = turns[i];
    links_by_turn_[static_cast<std::size_t>(turns[i])] = static_cast<LinkId>(i);
  }
}

PacketEngine::~PacketEngine() = default;

FlowId PacketEngine::add_flow(const FlowSpec& spec) {
  Flow flow;
  flow.first_hop = static_cast<std::int32_t>(hops_.size());
  flow.hops = static_cast<std::int32_t>(spec.route.size());
  flow.kind = spec.kind;
  flow.data = spec.data;
  add_hops(spec, spec.route);
  LinkId feeder = kManyFeeders;
  int feeder_copy = 0;
  if (spec.answers != kNone && length(spec.answers) > 0) {
    feeder = link_of(spec.answers, length(spec.answers) - 1);
    feeder_copy = copy_of(spec.answers, length(spec.answers) - 1);
  }
  for (const RouteHop& hop : spec.route) {
    add_feeder(hop, feeder, feeder_copy);
    feeder = hop.link;
    feeder_copy = hop.copy;
  }
  add_other_ways(spec, flow);
  flows_.push_back(flow);
  return static_cast<FlowId>(flows_.size() - 1);
}

void PacketEngine::add_hops(const FlowSpec& spec, const Route& route) {
  for (std::size_t i = 0; i < route.size(); ++i) {
    const RouteHop& hop = route[i];
    FlowHop added;
    added.link = hop.link;
    added.unit = static_cast<std::int32_t>(hop.unit.count);
    added.overhead = static_cast<std::int32_t>(hop.overhead.count);
    added.ordinal = flows_on_link_[static_cast<std::size_t>(hop.link)]++;
    added.copy = hop.copy;
    added.traffic_class = static_cast<std::uint8_t>(spec.traffic_class);
    added.data = spec.data;
    added.notify_start = spec.notify_start && i == 0;
    added.endpoint_keeps_buffer = spec.endpoint_keeps_buffer;
    added.first = i == 0;
    added.last = i + 1 == route.size();
    if (!added.last) {
      const RouteHop& next = route[i + 1];
      const bool slower = fabric_.link(next.link).rate <= fabric_.link(hop.link).rate;
      added.next_is_slower = slower && next.unit == hop.unit && next.overhead >= hop.overhead;
      added.next_wants_whole = !slower && fabric_.link(hop.link).network;
    }
    hops_.push_back(added);
  }
}

void PacketEngine::add_feeder(const RouteHop& hop, LinkId feeder, int feeder_copy) {
  LinkState& state = link_state(hop.link);
  const int copy = copies_.minus(feeder_copy, hop.copy);
  const bool first = state.feeder == kNoLink;
  if (first) {
    used_links_.insert(std::lower_bound(used_links_.begin(), used_links_.end(), hop.link),
                       hop.link);
  }
  const bool same = state.feeder == feeder && state.feeder_copy == copy;
  state.feeder = first || same ? feeder : kManyFeeders;
  state.feeder_copy = copy;
  // What a run leaves on the wires when its last rank is done is not decided ahead of its end.
  if (fabric_.link(hop.link).network) state.feeder = kManyFeeders;
  // From one root complex memory gets writes and, after its own latency, what reads have asked for.
  if (fabric_.link(hop.link).kind == LinkKind::kHostMemory) state.feeder = kManyFeeders;
}

LinkId PacketEngine::first_link(FlowId flow) const {
  return length(flow) > 0 ? link_of(flow, 0) : kNoLink;
}

PacketId PacketEngine::add_packet(const Packet& added) {
  const PacketId id = free_packet_;
  if (id == kNone) {
    packets_.push_back(added);
    return static_cast<PacketId>(packets_.size() - 1);
  }
  free_packet_ = packet(id).next;
  packet(id) = added;
  return id;
}

std::int32_t PacketEngine::add_trace() {
  if (free_traces_.empty()) {
    traces_.emplace_back();
    return static_cast<std::int32_t>(traces_.size() - 1);
  }
  const std::int32_t index = free_traces_.back();
  free_traces_.pop_back();
  traces_[static_cast<std::size_t>(index)].count = 0;
  traces_[static_cast<std::size_t>(index)].shift = 0;
  return index;
}

// Before the flow's first link.
void PacketEngine::number(FlowId flow, Packet& packet, std::int64_t ready) {
  Flow& f = flows_[static_cast<std::size_t>(flow)];
  if (f.data) payload_sent_ += packet.payload;
  packet.flow = flow;
  packet.hop = f.first_hop;
  packet.ready = ready;
  // Pieces of one packet are one in the sequence.
  packet.sequence = f.next_sequence;
  if (packet.last_part) ++f.next_sequence;
}

void PacketEngine::send(FlowId flow, const Packet& sent, std::int64_t ready) {
  if (stations_ && stations_->takes(flow)) return stations_->send(flow, sent, ready);
  const Flow& f = flows_[static_cast<std::size_t>(flow)];
  if (f.hops == 0) {
    if (f.data) payload_sent_ += sent.payload;
    if (f.data) payload_delivered_ += sent.payload;
    Packet there = sent;
    there.flow = flow;
    endpoints_.on_delivery(there, ready);
    return;
  }
  const PacketId id = add_packet(sent);
  number(flow, packet(id), ready);
  if (in_starts_ && !ahead_ && ready == now_) {
    // Every other arrival of this instant has been handled: this one need not wait in the wheel.
    arrive(id);
    return;
  }
  queue(id);
}

// A packet that will be ready at its link.
void PacketEngine::queue(PacketId id) {
  const Packet& queued = packet(id);
  const LinkId link = hop_of(queued).link;
  LinkState& state = link_state(link);
  const bool alone = state.arriving == 0 && state.waiting == 0;
  if (state.feeder >= 0 && alone && try_ahead(link, state, id)) return;
  ++state.arriving;
  schedule_arrival(id, queued);
}

void PacketEngine::schedule_arrival(PacketId id, const Packet& arriving) {
  const auto order = static_cast<std::uint32_t>(hop_of(arriving).ordinal);
  wheel_.schedule(
      {arriving.ready, event_order(Phase::kArrival, order), event_what(EngineEvent::kArrival, id)});
}

void PacketEngine::schedule(std::int64_t time, std::uint32_t kind, std::int32_t index,
                            std::int32_t place) {
  GRADHAUL_ASSERT(kind < kMostKinds && static_cast<std::uint32_t>(place) < kMostPlaces,
                  "an event's place orders it");
  const Event event{
      time, event_order(Phase::kArrival, endpoint_order(kind, static_cast<std::uint32_t>(place))),
      event_what(kind + kFirstEndpointEvent, index)};
  // Else who comes first would depend on how far the others of this instant are.
  if (time == now_ && !ahead_) {
    next_round_.push_back(event);
  } else {
    wheel_.schedule(event);
  }
}

void PacketEngine::begin_round() {
  for (const Event& event : next_round_) wheel_.schedule(event);
  next_round_.clear();
}

PacketEngine::Pause PacketEngine::run(std::int64_t limit, std::int64_t budget) {
  const Pause pause = run_events(limit, budget);
  if (stations_) stations_->catch_up();
  if (stations_) stations_->settle();
  return pause;
}

PacketEngine::Pause PacketEngine::run_events(std::int64_t limit, std::int64_t budget) {
  stopped_ = false;
  // What stations do counts too.
  const std::int64_t before = events_;
  while (true) {
    if (!wheel_.more_at(now_)) {
      if (!next_round_.empty()) {
        begin_round();
        continue;
      }
      if (start_count_ > 0) {
        run_starts();
        continue;
      }
      if (pause_after_instant_) {
        pause_after_instant_ = false;
        return Pause::kInstant;
      }
      std::int64_t time = wheel_.next_time();
      if (stations_ && (time > limit || time > stations_->quiet())) {
        stations_->advance(limit + 1);
        time = wheel_.next_time();
      }
      if (time == INT64_MAX) return Pause::kIdle;
      if (time > limit) return Pause::kLimit;
      now_ = time;
    }
    if (events_ - before >= budget) return Pause::kBudget;
    ++events_;
    handle(wheel_.take());
    if (stopped_) return Pause::kStopped;
  }
}

void PacketEngine::handle(const Event& event) {
  const std::int32_t index = index_of(event);
  switch (static_cast<EngineEvent>(kind_of(event))) {
    case EngineEvent::kArrival:
      --link_state(hop_of(packet(index)).link).arriving;
      if (hop_of(packet(index)).chooses) choose_way(packet(index));
      return arrive(index);
    case EngineEvent::kWake: {
      LinkState& link = link_state(index);
      if (link.wake == now_) link.wake = INT64_MAX;
      return list_start(index);
    }
    case EngineEvent::kLook:
      return look_at_buffer(index);
    case EngineEvent::kPause:
      return heed_pause(index, true);
    case EngineEvent::kResume:
      return heed_pause(index, false);
    case EngineEvent::kStormBegins:
      return storm(index, true);
    case EngineEvent::kStormEnds:
      return storm(index, false);
    default:
      return endpoints_.on_event(kind_of(event) - kFirstEndpointEvent, index);
  }
}

void PacketEngine::arrive(PacketId id) {
  Packet& arrived = packet(id);
  arrived.next = kNone;
  const FlowHop& hop = hop_of(arrived);
  const LinkId link = hop.link;
  LinkState& state = link_state(link);
  const int c = hop.traffic_class;
  if (state.drops && c == 0 && !keeps_waiting(id, link)) return;
  if (arrived.trace != kNone) trace(arrived.trace).stalled_at_arrival = stall_total(link);
  if (state.marks) mark(link, arrived);
  if (state.counts_queue) state.queued += form_of(hop_of(arrived), arrived).credits;
  if (state.watched) {
    FlowHop& form_hop = hop_of(arrived);
    observer_->on_arrival(link, wire_bytes(hop, arrived, form_of(form_hop, arrived).units), now_);
  }
  if (state.head[c] == kNone) {
    state.head[c] = id;
  } else {
    packet(state.tail[c]).next = id;
  }
  state.tail[c] = id;
  state.waiting = static_cast<std::uint8_t>(state.waiting | 1U << c);
  if (state.free <= now_) {
    list_start(link);
  } else {
    if (state.backlog_since < 0) state.backlog_since = now_;
    wake_at(link, state.free);
  }
}

void PacketEngine::list_start(LinkId link) {
  LinkState& state = link_state(link);
  if (state.listed) return;
  state.listed = true;
  starts_[start_count_++] = state.turn;
}

void PacketEngine::wake_at(LinkId link, std::int64_t time) {
  LinkState& state = link_state(link);
  if (state.wake <= time) return;
  state.wake = time;
  wheel_.schedule({time, event_order(Phase::kRelease, static_cast<std::uint32_t>(link)),
                   event_what(EngineEvent::kWake, link)});
}

// What a start lists in its turn (a link that gets credits back, a queue that is filled) is decided
// after these.
void PacketEngine::run_starts() {
  in_starts_ = true;
  const auto start_next = [&](std::int32_t turn) {
    const LinkId link = links_by_turn_[static_cast<std::size_t>(turn)];
    link_state(link).listed = false;
    try_start(link);
  };
  if (start_count_ == 1) {
    start_count_ = 0;
    start_next(starts_[0]);
  } else {
    starting_.assign(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(start_count_));
    start_count_ = 0;
    std::sort(starting_.begin(), starting_.end());
    for (const std::int32_t turn : starting_) start_next(turn);
  }
  in_starts_ = false;
}

void PacketEngine::compute_form(FlowHop& hop, const Packet& p) {
  const LinkState& state = states_[static_cast<std::size_t>(hop.link)];
  TrainForm& form = hop.form;
  form.key = form_key(p);
  form.units = hop.unit == 0           ? p.units
               : p.payload <= hop.unit ? 1
                                       : (p.payload + hop.unit - 1) / hop.unit;
  const Bytes wire{wire_bytes(hop, p, form.units)};
  form.credits = state.unit_credits
                     ? form.units
                     : static_cast<std::int32_t>(state.ethernet ? wire.count : credit_blocks(wire));
  SerialisationCarry carry;
  form.time = state.rate == 0 ? 0 : serialisation_time(wire, BitRate{state.rate}, carry).ps;
  form.remainder = carry.remainder;
}

ResourceId PacketEngine::stall_culprit(LinkId link, int traffic_class) const {
  const LinkState& stalled = state(link);
  return stalled.lossless ? buffers_.culprit(link) : stalled.credits[traffic_class].culprit(now_);
}

std::int64_t PacketEngine::backlog_total(LinkId link) const {
  if (stations_) stations_->catch_up(link);
  if (stations_) stations_->settle_backlog(link);
  const LinkState& s = state(link);
  return s.backlog_total + (s.backlog_since >= 0 ? now_ - s.backlog_since : 0);
}

std::int64_t PacketEngine::stall_total(LinkId link) const {
  const LinkState& s = state(link);
  return s.stall_total + (s.stall_since >= 0 ? now_ - s.stall_since : 0);
}

}  // namespace gradhaul
