#include "sim/packet_engine.h"

#include <algorithm>

#include "core/assert.h"
#include "sim/infiniband_framing.h"

namespace gradhaul {
namespace {

// Engine's own event kinds; those of Endpoints follow.
constexpr std::uint32_t kArrivalEvent = 0;
constexpr std::uint32_t kWakeEvent = 1;
constexpr std::uint32_t kFirstEndpointEvent = 2;
constexpr int kIndexBits = 27;

constexpr std::uint32_t event_what(std::uint32_t kind, std::int32_t index) {
  return kind << kIndexBits | static_cast<std::uint32_t>(index);
}

}  // namespace

PacketEngine::PacketEngine(const Fabric& fabric, Endpoints& endpoints)
    : fabric_(fabric),
      endpoints_(endpoints),
      states_(fabric.links().size()),
      flows_on_link_(fabric.links().size(), 0) {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    for (int c = 0; c < kTrafficClasses; ++c) {
      states_[i].credits[c].start_with(fabric.links()[i].window[c]);
    }
  }
}

FlowId PacketEngine::add_flow(const FlowSpec& spec) {
  Flow flow;
  flow.first_hop = static_cast<std::int32_t>(hops_.size());
  flow.hops = static_cast<std::int32_t>(spec.route.size());
  flow.traffic_class = spec.traffic_class;
  flow.kind = spec.kind;
  flow.data = spec.data;
  flow.notify_start = spec.notify_start;
  flow.endpoint_keeps_buffer = spec.endpoint_keeps_buffer;
  for (std::size_t i = 0; i < spec.route.size(); ++i) {
    const RouteHop& hop = spec.route[i];
    FlowHop added;
    added.link = hop.link;
    added.unit = static_cast<std::int32_t>(hop.unit.count);
    added.overhead = static_cast<std::int32_t>(hop.overhead.count);
    added.ordinal = flows_on_link_[static_cast<std::size_t>(hop.link)]++;
    if (i + 1 < spec.route.size()) {
      const RouteHop& next = spec.route[i + 1];
      const bool slower = fabric_.link(next.link).rate <= fabric_.link(hop.link).rate;
      added.next_is_slower = slower && next.unit == hop.unit && next.overhead >= hop.overhead;
      added.next_wants_whole = !slower && fabric_.link(hop.link).network;
    }
    hops_.push_back(added);
  }
  flows_.push_back(flow);
  return static_cast<FlowId>(flows_.size() - 1);
}

LinkId PacketEngine::first_link(FlowId flow) const {
  const Flow& f = flows_[static_cast<std::size_t>(flow)];
  return f.hops > 0 ? hops_[static_cast<std::size_t>(f.first_hop)].link : kNoLink;
}

PacketId PacketEngine::add_packet(const Packet& added) {
  if (free_packets_.empty()) {
    packets_.push_back(added);
    return static_cast<PacketId>(packets_.size() - 1);
  }
  const PacketId id = free_packets_.back();
  free_packets_.pop_back();
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
  return index;
}

void PacketEngine::send(FlowId flow, Packet sent, std::int64_t ready) {
  Flow& f = flows_[static_cast<std::size_t>(flow)];
  sent.flow = flow;
  sent.hop = 0;
  sent.ready = ready;
  // Pieces of one packet are one in the sequence.
  sent.sequence = f.next_sequence;
  if (sent.last_part) ++f.next_sequence;
  if (f.data) payload_sent_ += sent.payload;
  if (f.hops == 0) {
    if (f.data) payload_delivered_ += sent.payload;
    endpoints_.on_delivery(sent, ready);
    return;
  }
  const std::uint32_t ingress =
      sent.ingress == kNoLink ? kNoIngress : static_cast<std::uint32_t>(sent.ingress);
  const PacketId id = add_packet(sent);
  wheel_.schedule({ready, event_order(Phase::kArrival, ingress), event_what(kArrivalEvent, id)});
}

void PacketEngine::schedule(std::int64_t time, std::uint32_t kind, std::int32_t index) {
  wheel_.schedule({time, event_order(Phase::kArrival, kNoIngress),
                   event_what(kind + kFirstEndpointEvent, index)});
}

PacketEngine::Pause PacketEngine::run(std::int64_t limit, std::int64_t budget) {
  stopped_ = false;
  while (true) {
    const std::int64_t time = wheel_.next_time();
    if (time > now_ && !starts_.empty()) {
      run_starts();
      continue;
    }
    if (time == INT64_MAX) return Pause::kIdle;
    if (time > limit) return Pause::kLimit;
    if (budget-- == 0) return Pause::kBudget;
    now_ = time;
    handle(wheel_.take());
    if (stopped_) return Pause::kStopped;
  }
}

void PacketEngine::handle(const Event& event) {
  const std::uint32_t kind = event.what >> kIndexBits;
  const auto index = static_cast<std::int32_t>(event.what & ((std::uint32_t{1} << kIndexBits) - 1));
  if (kind == kArrivalEvent) {
    arrive(index);
  } else if (kind == kWakeEvent) {
    LinkState& link = states_[static_cast<std::size_t>(index)];
    if (link.wake == now_) link.wake = INT64_MAX;
    list_start(index);
  } else {
    endpoints_.on_event(kind - kFirstEndpointEvent, index);
  }
}

void PacketEngine::arrive(PacketId id) {
  Packet& arrived = packet(id);
  arrived.next = kNone;
  const LinkId link = hop_of(arrived).link;
  LinkState& state = states_[static_cast<std::size_t>(link)];
  const int c = static_cast<int>(flows_[static_cast<std::size_t>(arrived.flow)].traffic_class);
  if (arrived.trace != kNone) trace(arrived.trace).stalled_at_arrival = stall_total(link);
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
  LinkState& state = states_[static_cast<std::size_t>(link)];
  if (state.listed) return;
  state.listed = true;
  starts_.push_back(link);
}

void PacketEngine::wake_at(LinkId link, std::int64_t time) {
  LinkState& state = states_[static_cast<std::size_t>(link)];
  if (state.wake <= time) return;
  state.wake = time;
  wheel_.schedule({time, event_order(Phase::kRelease, static_cast<std::uint32_t>(link)),
                   event_what(kWakeEvent, link)});
}

void PacketEngine::run_starts() {
  if (starts_.size() > 1) std::sort(starts_.begin(), starts_.end());
  // What a start lists in its turn (a link that gets credits back) is decided after these.
  std::size_t done = 0;
  const std::size_t listed = starts_.size();
  while (done < listed) {
    const LinkId link = starts_[done++];
    states_[static_cast<std::size_t>(link)].listed = false;
    try_start(link);
  }
  starts_.erase(starts_.begin(), starts_.begin() + static_cast<std::ptrdiff_t>(listed));
}

std::int64_t PacketEngine::units_on(const FlowHop& hop, const Packet& packet) {
  if (hop.unit == 0) return packet.units;
  return packet.payload <= hop.unit ? 1 : (packet.payload + hop.unit - 1) / hop.unit;
}

std::int64_t PacketEngine::wire_bytes(const FlowHop& hop, const Packet& packet) {
  return packet.payload + units_on(hop, packet) * hop.overhead + packet.extra;
}

std::int64_t PacketEngine::credits_needed(LinkId link, const FlowHop& hop,
                                          const Packet& packet) const {
  if (fabric_.link(link).kind != LinkKind::kInfiniband) return units_on(hop, packet);
  return credit_blocks({wire_bytes(hop, packet)});
}

// May the packet at the head of a class start, in part or whole, or when?
PacketEngine::Attempt PacketEngine::attempt(LinkId link, int traffic_class) {
  LinkState& state = states_[static_cast<std::size_t>(link)];
  const Packet& head = packet(state.head[traffic_class]);
  const FlowHop& hop = hop_of(head);
  CreditReturns& credits = state.credits[traffic_class];
  const std::int64_t units = units_on(hop, head);
  if (!credits.guarded()) return {units};
  credits.absorb(now_);
  const std::int64_t needed = credits_needed(link, hop, head);
  if (credits.available() >= needed) return {units};
  if (hop.unit == 0 || fabric_.link(link).kind == LinkKind::kInfiniband) {
    if (credits.known() < needed) return {};
    return {0, credits.time_of(now_, needed)};
  }
  const std::int64_t unit_time =
      serialisation_time({wire_bytes(hop, head)}, fabric_.link(link).rate).ps / units;
  const std::int64_t now_usable = credits.gapless(now_, unit_time, units);
  if (now_usable == units) return {units};
  const std::int64_t known = credits.known();
  // Pieces only while the far end has little of ours left to work on; see the head of the header.
  const bool pieces = known * 4 >= credits.window();
  if (now_usable > 0 && pieces) return {now_usable};
  if (known >= units) return {0, credits.start_for(now_, unit_time, units)};
  if (known > 0 && pieces) return {0, credits.start_for(now_, unit_time, 1)};
  return {};
}

// Cuts `units` off the front of the head packet; the rest stays at the head.
PacketId PacketEngine::cut(LinkId link, int traffic_class, std::int64_t units) {
  LinkState& state = states_[static_cast<std::size_t>(link)];
  Packet piece = packet(state.head[traffic_class]);
  const FlowHop& hop = hop_of(piece);
  piece.payload = static_cast<std::int32_t>(units * hop.unit);
  piece.extra = 0;
  piece.trace = kNone;
  piece.last_part = false;
  piece.last_of_message = false;
  Packet& rest = packet(state.head[traffic_class]);
  rest.payload -= piece.payload;
  // The buffer before this link is given back piece by piece.
  if (rest.ingress_units > 0 && fabric_.link(rest.ingress).kind == LinkKind::kPcie) {
    const auto share =
        static_cast<std::int32_t>(std::min<std::int64_t>(units, rest.ingress_units - 1));
    piece.ingress_units = share;
    rest.ingress_units -= share;
  } else {
    piece.ingress_units = 0;
  }
  return add_packet(piece);
}

PacketId PacketEngine::take_head(LinkId link, int traffic_class) {
  LinkState& state = states_[static_cast<std::size_t>(link)];
  const PacketId id = state.head[traffic_class];
  state.head[traffic_class] = packet(id).next;
  if (state.head[traffic_class] == kNone) {
    state.tail[traffic_class] = kNone;
    state.waiting = static_cast<std::uint8_t>(state.waiting & ~(1U << traffic_class));
  }
  return id;
}

void PacketEngine::try_start(LinkId link) {
  LinkState& state = states_[static_cast<std::size_t>(link)];
  while (state.waiting != 0) {
    if (state.free > now_) {
      if (state.backlog_since < 0) state.backlog_since = now_;
      wake_at(link, state.free);
      return;
    }
    // The class whose head was ready first and may start; a read request passes no posted write.
    int chosen = kNone;
    Attempt best;
    std::int64_t retry = INT64_MAX;
    for (int c = 0; c < kTrafficClasses; ++c) {
      if (state.head[c] == kNone) continue;
      const Packet& head = packet(state.head[c]);
      if (chosen != kNone) {
        const Packet& other = packet(state.head[chosen]);
        if (std::pair(other.ready, other.ingress) <= std::pair(head.ready, head.ingress)) continue;
      }
      const int posted = static_cast<int>(TrafficClass::kPosted);
      if (c == static_cast<int>(TrafficClass::kNonPosted) && chosen != posted &&
          state.head[posted] != kNone && packet(state.head[posted]).ready <= head.ready) {
        continue;
      }
      const Attempt tried = attempt(link, c);
      if (tried.units > 0) {
        chosen = c;
        best = tried;
      }
      retry = std::min(retry, tried.retry);
    }
    if (chosen == kNone) {
      if (state.backlog_since < 0) state.backlog_since = now_;
      if (state.stall_since < 0) state.stall_since = now_;
      if (retry != INT64_MAX) wake_at(link, retry);
      return;
    }
    const Packet& head = packet(state.head[chosen]);
    const FlowHop& hop = hop_of(head);
    const bool whole = best.units == units_on(hop, head);
    const PacketId id = whole ? take_head(link, chosen) : cut(link, chosen, best.units);
    CreditReturns& credits = state.credits[chosen];
    if (credits.guarded()) credits.take(credits_needed(link, hop, packet(id)));
    if (state.stall_since >= 0) {
      state.stall_total += now_ - state.stall_since;
    }
    start(link, id);
  }
  if (state.backlog_since >= 0) {
    state.backlog_total += now_ - state.backlog_since;
    state.backlog_since = -1;
  }
}

void PacketEngine::start(LinkId link, PacketId id) {
  const Link& model = fabric_.link(link);
  LinkState& state = states_[static_cast<std::size_t>(link)];
  Packet& started = packet(id);
  FlowHop& hop = hop_of(started);
  const Flow& flow = flows_[static_cast<std::size_t>(started.flow)];
  SerialisationCarry carry{state.free == now_ ? state.carry : 0};
  const std::int64_t serialisation =
      serialisation_time({wire_bytes(hop, started)}, model.rate, carry).ps;
  state.carry = carry.remainder;
  state.free = now_ + serialisation;
  state.busy_total += serialisation;
  state.payload_total += started.payload;
  state.digest.add(now_, hop.ordinal, started.sequence - hop.last_sequence);
  hop.last_sequence = started.sequence;
  if (flow.data && started.last_part) ++packet_hops_;
  const bool stalled = state.stall_since >= 0;
  state.stall_since = -1;
  const int c = static_cast<int>(flow.traffic_class);
  const ResourceId culprit = stalled && state.credits[c].last_culprit() != kNoResource
                                 ? state.credits[c].last_culprit()
                                 : model.resource;
  if (started.ingress_units > 0) give_back(started, serialisation, culprit);
  if (started.trace != kNone) trace_start(started, link);
  const bool notify = flow.notify_start && started.hop == 0;
  const Packet copy = notify ? started : Packet{};
  go_on(id, link, serialisation);
  if (notify) endpoints_.on_first_start(copy, now_);
}

// The packet leaves the buffer at the far end of its ingress link from now on.
void PacketEngine::give_back(const Packet& leaving, std::int64_t serialisation,
                             ResourceId culprit) {
  const Link& ingress = fabric_.link(leaving.ingress);
  LinkState& state = states_[static_cast<std::size_t>(leaving.ingress)];
  CreditRun run;
  run.units = leaving.ingress_units;
  run.culprit = culprit;
  int c = static_cast<int>(TrafficClass::kPosted);
  if (ingress.kind == LinkKind::kPcie) {
    c = static_cast<int>(flows_[static_cast<std::size_t>(leaving.flow)].traffic_class);
    run.first = now_ + std::max<std::int64_t>(0, (ingress.credit_return - ingress.latency).ps);
    run.spacing = serialisation / run.units;
  } else {
    run.first = now_ + serialisation + ingress.credit_return.ps;
  }
  state.credits[c].add(run);
  if ((state.waiting >> c & 1U) != 0 && state.free <= now_) list_start(leaving.ingress);
}

void PacketEngine::release(LinkId ingress, std::int32_t units, std::int64_t time,
                           ResourceId culprit) {
  if (units == 0) return;
  LinkState& state = states_[static_cast<std::size_t>(ingress)];
  const int c = static_cast<int>(TrafficClass::kPosted);
  state.credits[c].add({time + fabric_.link(ingress).credit_return.ps, 0, units, culprit});
  if ((state.waiting >> c & 1U) != 0 && state.free <= now_) list_start(ingress);
}

void PacketEngine::go_on(PacketId id, LinkId link, std::int64_t serialisation) {
  const Link& model = fabric_.link(link);
  LinkState& state = states_[static_cast<std::size_t>(link)];
  Packet& moved = packet(id);
  const FlowHop& hop = hop_of(moved);
  const Flow& flow = flows_[static_cast<std::size_t>(moved.flow)];
  const int c = static_cast<int>(flow.traffic_class);
  const bool guarded = state.credits[c].guarded();
  const std::int64_t taken = guarded ? credits_needed(link, hop, moved) : 0;
  moved.ingress = link;
  moved.ingress_units = static_cast<std::int32_t>(taken);
  if (moved.hop + 1 < flow.hops) {
    std::int64_t wait = 0;
    if (hop.next_wants_whole) {
      wait = serialisation;
    } else if (!hop.next_is_slower) {
      const FlowHop& next = (&hop)[1];
      const std::int64_t there =
          serialisation_time({wire_bytes(next, moved)}, fabric_.link(next.link).rate).ps;
      wait = std::max<std::int64_t>(0, serialisation - there);
    }
    if (moved.trace != kNone) trace(moved.trace).add(model.resource, Cause::kBusy, wait);
    ++moved.hop;
    moved.ready = now_ + model.latency.ps + wait;
    wheel_.schedule({moved.ready, event_order(Phase::kArrival, static_cast<std::uint32_t>(link)),
                     event_what(kArrivalEvent, id)});
    return;
  }
  const std::int64_t delivered = now_ + serialisation + model.latency.ps;
  if (guarded && !flow.endpoint_keeps_buffer) {
    CreditRun run{now_ + model.credit_return.ps, 0, taken, kNoResource};
    if (model.kind == LinkKind::kPcie) {
      run.spacing = serialisation / taken;
    } else {
      run.first = delivered + model.credit_return.ps;
    }
    state.credits[c].add(run);
    moved.ingress_units = 0;
  }
  if (flow.data) payload_delivered_ += moved.payload;
  if (moved.trace != kNone) trace(moved.trace).add(model.resource, Cause::kBusy, serialisation);
  const Packet copy = moved;
  free_packets_.push_back(id);
  endpoints_.on_delivery(copy, delivered);
}

void PacketEngine::trace_start(const Packet& started, LinkId link) {
  const Link& model = fabric_.link(link);
  const LinkState& state = states_[static_cast<std::size_t>(link)];
  Trace& parts = trace(started.trace);
  const std::int64_t waited = now_ - started.ready;
  const std::int64_t stalled = std::min(waited, state.stall_total - parts.stalled_at_arrival);
  if (stalled > 0) {
    const int c = static_cast<int>(flows_[static_cast<std::size_t>(started.flow)].traffic_class);
    const ResourceId culprit = state.credits[c].last_culprit();
    parts.add(culprit == kNoResource ? model.resource : culprit, Cause::kCredits, stalled);
  }
  parts.add(model.resource, Cause::kBusy, waited - stalled);
  parts.add(model.resource, Cause::kLatency, model.latency.ps);
}

std::int64_t PacketEngine::backlog_total(LinkId link) const {
  const LinkState& s = state(link);
  return s.backlog_total + (s.backlog_since >= 0 ? now_ - s.backlog_since : 0);
}

std::int64_t PacketEngine::stall_total(LinkId link) const {
  const LinkState& s = state(link);
  return s.stall_total + (s.stall_since >= 0 ? now_ - s.stall_since : 0);
}

}  // namespace gradhaul
