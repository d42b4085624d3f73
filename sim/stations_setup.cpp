// How stations are made of a plan: rings before links, entries of flows, what becomes of plain
// packets, credits to be watched.

#include <algorithm>
#include <memory>

#include "core/assert.h"
#include "sim/packet_transport.h"
#include "sim/stations.h"
#include "sim/wiring.h"

namespace gradhaul {
namespace {

// ps: so that what stations keep for each other stays little.
constexpr std::int64_t kLongestWindow = 10'000'000;
constexpr int kPosted = static_cast<int>(TrafficClass::kPosted);
constexpr int kNonPosted = static_cast<int>(TrafficClass::kNonPosted);
constexpr int kCompletion = static_cast<int>(TrafficClass::kCompletion);

}  // namespace

Stations::Stations(PacketEngine& engine, const StationPlan& plan, PacketTransport& transport)
    : engine_(engine),
      transport_(transport),
      window_(std::max<std::int64_t>(1, std::min(plan.arrival, plan.writing))),
      arrival_(plan.arrival),
      crossing_(plan.crossing),
      writing_(plan.writing),
      reading_(kLongestWindow) {
  const std::size_t links = engine_.states_.size();
  waits_ = plan.waits;
  credits_.resize(links);
  ring_from_.resize(links);
  station_of_.resize(links, kNone);
  next_.assign(plan.nics.size() + plan.wires.size(), INT64_MAX);
  quiet_ = EarliestOf(next_.size());
  clocks_.assign(next_.size(), 0);
  inputs_.resize(next_.size());
  outputs_.resize(next_.size());
  const Node& node = transport_.node_;
  packet_payload_ = static_cast<std::int32_t>(engine_.fabric_.cluster().network.mtu.count);
  read_latency_ = node.gpu.read_latency.ps;
  receive_latency_ = node.nic.receive_latency.ps;
  transmit_latency_ = node.nic.transmit_latency.ps;
  add_nics(plan);
  add_wires(plan);
  add_gates();
  add_entries();
  add_lanes();
  add_inputs();
  for (WireCredits& credits : credits_) {
    if (credits.watched()) watched_credits_.push_back(&credits);
  }
}

void Stations::watch(TrainCredits& credits, const LinkId (&pair)[2], int traffic_class) const {
  std::int64_t window = 0;
  std::int64_t loop = 0;
  for (const LinkId link : pair) {
    if (link == kNoLink) continue;
    const LinkState& state = engine_.state(link);
    if (!state.credits[traffic_class].guarded()) continue;
    const std::int64_t least = state.credits[traffic_class].window();
    window = window == 0 ? least : std::min(window, least);
    loop = std::max(loop, state.latency + state.return_after_leaving);
  }
  credits.start_with(window, loop);
}

// What is sent to a lossless port counts as if it were there at once.
void Stations::watch(LinkId wire) {
  if (waits_) return;
  const LinkState& state = engine_.state(wire);
  WireCredits& credits = credits_[static_cast<std::size_t>(wire)];
  if (state.lossless) return credits.start_with(engine_.buffers_.unpaused(wire), 0, false);
  credits.start_with(state.credits[kPosted].window(), state.return_after_leaving, true);
}

// What waits when a packet comes has left before that one starts.
std::int64_t Stations::longest_wait(const LinkState& wire) const {
  if (!wire.marks) return INT64_MAX;
  const Bytes least = engine_.fabric_.cluster().network.congestion.kmin;
  // The carry of a link that was busy is less than a picosecond.
  return serialisation_time(least, BitRate{wire.rate}).ps - 1;
}

void Stations::add_nics(const StationPlan& plan) {
  nics_.reserve(plan.nics.size());
  for (const StationPlan::Nic& links : plan.nics) {
    Nic& nic = nics_.emplace_back();
    nic.links = links;
    nic.next = &next_[nics_.size() - 1];
    nic.out = &engine_.link_state(links.out);
    watch(nic.writes_under_way, links.up, kPosted);
    watch(nic.requests_under_way, links.up, kNonPosted);
    watch(nic.answers_under_way, links.answer, kCompletion);
    if (links.up[1] != kNoLink) {
      const LinkState& second = engine_.state(links.up[1]);
      nic.up = &engine_.link_state(links.up[0]);
      nic.up_latency = nic.up->latency + second.latency;
      if (second.credits[kPosted].guarded())
        nic.whole_writes = second.credits[kPosted].window() / 2;
    }
    if (links.answer[1] != kNoLink) {
      nic.answer = &engine_.link_state(links.answer[0]);
      nic.answer_latency = nic.answer->latency + engine_.state(links.answer[1]).latency;
      reading_ = std::min(reading_,
                          nic.up_latency + read_latency_ + nic.answer_latency + transmit_latency_);
    }
    const auto number = static_cast<std::int32_t>(nics_.size() - 1);
    for (const LinkId link :
         {links.out, links.up[0], links.up[1], links.answer[0], links.answer[1]}) {
      if (link != kNoLink) station_of_[static_cast<std::size_t>(link)] = number;
    }
    watch(links.out);
    if (links.injector == kNone) continue;
    const auto injector = static_cast<std::size_t>(links.injector);
    transport_.injectors_[injector].tags = 0;  // there are always enough
    if (injector >= nic_of_injector_.size()) nic_of_injector_.resize(injector + 1, kNone);
    nic_of_injector_[injector] = number;
  }
}

void Stations::add_wires(const StationPlan& plan) {
  wires_.reserve(plan.wires.size());
  for (const LinkId link : plan.wires) {
    const std::size_t station = nics_.size() + wires_.size();
    station_of_[static_cast<std::size_t>(link)] = static_cast<std::int32_t>(station);
    LinkState& state = engine_.link_state(link);
    wires_.push_back({link, &state, nullptr, &next_[station], {}, longest_wait(state)});
    watch(link);
  }
  for (const PacketEngine::Flow& flow : engine_.flows_) {
    for (int i = 1; i < flow.hops; ++i) {
      const auto hop = static_cast<std::size_t>(flow.first_hop + i);
      const LinkId link = engine_.hops_[hop].link;
      const LinkId before = engine_.hops_[hop - 1].link;
      Wire* const wire = wire_of(link);
      if (wire == nullptr) continue;
      auto& from = ring_from_[static_cast<std::size_t>(link)];
      const bool known = std::any_of(from.begin(), from.end(),
                                     [&](const auto& entry) { return entry.first == before; });
      if (known) continue;
      from.emplace_back(before, &rings_.emplace_back());
      wire->rings.push_back(from.back().second);
    }
  }
}

WaitingRing& Stations::ring_between(LinkId from, LinkId wire) {
  const auto& rings = ring_from_[static_cast<std::size_t>(wire)];
  const auto ring =
      std::find_if(rings.begin(), rings.end(), [&](const auto& it) { return it.first == from; });
  return *ring->second;
}

// By kind: data and credits of a NIC come to its wire by different ways, each in its own order.
Stations::Entry Stations::entry_of(FlowId flow) {
  const auto kind = static_cast<FlowKind>(engine_.kind(flow));
  const PacketEngine::Flow& f = engine_.flows_[static_cast<std::size_t>(flow)];
  const LinkId first = engine_.first_link(flow);
  if (first == kNoLink) return {};
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    Nic& nic = nics_[i];
    const auto number = static_cast<std::int32_t>(i);
    if (first == nic.links.out) {
      if (kind != FlowKind::kWire) return {kRing, &nic.acknowledgements, number};
      return {kRing, f.data ? &nic.data : &nic.credits, number};
    }
    if (first == nic.links.up[0]) {
      return {kRing, kind == FlowKind::kReadRequest ? &nic.requests : &nic.writes, number};
    }
    if (first == nic.links.answer[0]) return {kAnswer, nullptr, number};
  }
  return {};
}

void Stations::add_entries() {
  for (std::size_t i = 0; i < engine_.flows_.size(); ++i) {
    entries_.push_back(entry_of(static_cast<FlowId>(i)));
    const Entry& entry = entries_.back();
    if (entry.kind == kOther) continue;
    const Nic& nic = nics_[static_cast<std::size_t>(entry.nic)];
    const LinkId first = engine_.first_link(static_cast<FlowId>(i));
    if (first != nic.links.out) second_hops_.push_back(engine_.flows_[i].first_hop + 1);
  }
}

// Data that a NIC reads through its pairs and another writes through its own.
void Stations::add_lanes() {
  lanes_.resize(engine_.flows_.size());
  plain_.resize(engine_.hops_.size());
  ways_.resize(engine_.hops_.size());
  for (const SimulatedConnection& connection : transport_.connections_) {
    const Path& path = connection.wires.data;
    if (path.kind != PathKind::kNic || path.staged_out || path.staged_in) continue;
    for (int pair = 0; pair < path.ways; ++pair) {
      add_lane(path, path.flow(FlowKind::kWire, pair));
    }
  }
}

// Reads and writes may both take no time (the ideal GPU), and then are no flows or empty ones.
void Stations::add_lane(const Path& path, FlowId wire) {
  const FlowId request = path.flow(FlowKind::kReadRequest);
  const FlowId completion = path.flow(FlowKind::kCompletion);
  const FlowId write = path.flow(FlowKind::kWrite);
  const auto takes_time = [&](FlowId flow) { return flow != kNone && engine_.length(flow) > 0; };
  const bool reads = takes_time(request);
  if (reads != takes_time(completion)) return;
  for (const FlowId flow : {request, completion, wire, write}) {
    if (!takes_time(flow)) continue;
    if (!takes(flow)) return;
    if (engine_.flows_[static_cast<std::size_t>(flow)].data != (flow != request)) return;
  }
  const std::int32_t last = first_hop(wire) + engine_.length(wire) - 1;
  if (!engine_.hops_[static_cast<std::size_t>(last)].endpoint_keeps_buffer) return;
  PlainLane& lane = lanes_[static_cast<std::size_t>(wire)];
  lane.wire = first_hop(wire);
  lane.wire_ordinal = ordinal(wire);
  Packet carrying;
  carrying.payload = packet_payload_;
  for (std::int32_t hop = first_hop(wire); hop <= last; ++hop) {
    PlainHop& plain = add_plain_hop(hop, carrying);
    plain.hops = 1;
    const PacketEngine::FlowHop* here = &engine_.hops_[static_cast<std::size_t>(hop)];
    if (!here->first) give_back_after(plain, hop, here[-1].copy, here[-1].ordinal);
    if (hop < last) add_way(hop, carrying);
  }
  PlainHop& leaves = plain_[static_cast<std::size_t>(lane.wire)];
  leaves.flow = wire;
  if (reads) {
    add_reads(lane, request, completion, carrying);
  } else {
    leaves.packets = 1;
    leaves.delivered = completion != kNone ? 1 : 0;
    leaves.sent = completion != kNone ? 2 : 1;
  }
  // On to the GPU at once: another flow.
  PlainHop& there = plain_[static_cast<std::size_t>(last)];
  ++there.sent;
  ++there.delivered;
  PlainWay& way = ways_[static_cast<std::size_t>(last)];
  const PacketEngine::FlowHop& arrives = engine_.hops_[static_cast<std::size_t>(last)];
  way.link = arrives.link;
  way.last = true;
  // As PacketTransport::take() has it.
  const Copies& copies = engine_.copies_;
  const int ingress_copy = copies.plus(path.shift(FlowKind::kWire), arrives.copy);
  if (takes_time(write)) {
    const int copy = copies.minus(ingress_copy, path.shift(FlowKind::kWrite));
    give_back_after(add_writes(way, write, carrying), first_hop(write), copy, ordinal(write));
  } else {
    ++there.delivered;
    way.culprit = copies.seen(path.receiver, copies.minus(0, ingress_copy));
    way.order = arrives.ordinal;
  }
}

std::int32_t Stations::first_hop(FlowId flow) const {
  return engine_.flows_[static_cast<std::size_t>(flow)].first_hop;
}

std::int32_t Stations::ordinal(FlowId flow) const {
  return engine_.hops_[static_cast<std::size_t>(first_hop(flow))].ordinal;
}

// To the NIC, and at once on to its wire.
void Stations::add_reads(PlainLane& lane, FlowId request, FlowId completion,
                         const Packet& carrying) {
  lane.request = first_hop(request);
  lane.completion = first_hop(completion);
  lane.request_ordinal = ordinal(request);
  Packet asking;
  asking.asked = packet_payload_;
  add_plain_hop(lane.request, asking).flow = request;
  PlainHop& in_nic = add_plain_hop(lane.completion, carrying);
  in_nic.flow = completion;
  in_nic.hops = in_nic.sent = 2;
  in_nic.delivered = in_nic.packets = 1;
  nics_[static_cast<std::size_t>(entries_[static_cast<std::size_t>(request)].nic)]
      .answers_under_way.leave_out(in_nic.units, in_nic.time);
}

PlainHop& Stations::add_writes(PlainWay& way, FlowId write, const Packet& carrying) {
  PlainHop& written = add_plain_hop(first_hop(write), carrying);
  written.flow = write;
  written.hops = 2;
  written.delivered = 1;
  Nic& there = nics_[static_cast<std::size_t>(entries_[static_cast<std::size_t>(write)].nic)];
  if (written.units <= there.whole_writes) {
    there.writes_under_way.leave_out(written.units, written.time);
  }
  way.ring = &there.writes;
  way.next = there.next;
  way.hop = first_hop(write);
  way.ordinal = ordinal(write);
  way.entered = &written;
  return written;
}

PlainHop& Stations::add_plain_hop(std::int32_t number, const Packet& packet) {
  PacketEngine::FlowHop hop = engine_.hops_[static_cast<std::size_t>(number)];
  engine_.compute_form(hop, packet);
  const std::int64_t rate = engine_.state(hop.link).rate;
  PlainHop& plain = plain_[static_cast<std::size_t>(number)];
  if (plain.units == 0) plain_hops_.push_back(number);
  plain.time = hop.form.time;
  plain.remainder = hop.form.remainder;
  plain.full_carry = rate > 0 ? rate : INT64_MAX;
  plain.part = LinkDigest::part(hop.ordinal, 1);
  plain.payload = packet.payload;
  plain.units = hop.form.units;
  plain.credits = wants_credits(hop.link) ? hop.form.credits : 0;
  return plain;
}

// From one wire to the next.
void Stations::add_way(std::int32_t number, const Packet& packet) {
  const PacketEngine::FlowHop& hop = engine_.hops_[static_cast<std::size_t>(number)];
  PacketEngine::FlowHop next = engine_.hops_[static_cast<std::size_t>(number + 1)];
  engine_.compute_form(next, packet);
  PlainWay& way = ways_[static_cast<std::size_t>(number)];
  way.link = hop.link;
  if (!hop.next_is_slower) way.not_waited_for = hop.next_wants_whole ? 0 : next.form.time;
  way.ring = &ring_between(hop.link, next.link);
  way.next = wire_of(next.link)->next;
  way.hop = number + 1;
  way.ordinal = next.ordinal;
}

// A wire takes what the links before it send; a NIC does something about what comes to an end on a
// link that leads to it.
void Stations::add_inputs() {
  for (const Wire& wire : wires_) {
    std::vector<Input>& inputs = inputs_[number_of(wire)];
    for (const auto& [before, ring] : ring_from_[static_cast<std::size_t>(wire.link)]) {
      const auto station = station_of_[static_cast<std::size_t>(before)];
      inputs.push_back({static_cast<std::size_t>(station), engine_.state(before).latency});
      leads_to(before, number_of(wire));
    }
  }
  for (const SimulatedConnection& connection : transport_.connections_) {
    add_inputs(connection.wires.data);
    add_inputs(connection.wires.credit);
  }
}

void Stations::add_inputs(const Path& path) {
  if (path.kind != PathKind::kNic) return;
  const auto has_do = [&](FlowId from, FlowId to) {
    if (from == kNone || to == kNone || !takes(from) || !takes(to)) return;
    const LinkId last = engine_.link_of(from, engine_.length(from) - 1);
    const auto station = static_cast<std::size_t>(station_of_[static_cast<std::size_t>(last)]);
    const auto nic = static_cast<std::size_t>(entries_[static_cast<std::size_t>(to)].nic);
    // A write leaves the buffer only then; all else does as it comes.
    if (engine_.kind(to) == static_cast<std::uint8_t>(FlowKind::kWrite)) leads_to(last, nic);
    std::vector<Input>& inputs = inputs_[nic];
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const Input& input) { return input.station == station; });
    if (!known) inputs.push_back({station, arrival_});
  };
  const bool answered = path.flow(FlowKind::kAcknowledge) != kNone;
  for (int way = 0; way < path.ways; ++way) {
    const FlowId wire = path.flow(FlowKind::kWire, way);
    const FlowId answer = answered ? path.flow(FlowKind::kAcknowledge, way) : kNone;
    has_do(wire, path.flow(FlowKind::kWrite));
    has_do(wire, answer);
    has_do(answer, wire);
  }
}

void PacketEngine::step_by_stations(const StationPlan& plan, PacketTransport& transport) {
  stations_ = std::make_unique<Stations>(*this, plan, transport);
}

void PacketEngine::stretch_windows(int times) { stations_->stretch_windows(times); }

bool PacketEngine::wakes_by_station(std::int32_t injector, std::int64_t time) {
  return stations_ && stations_->wake_at(injector, time);
}

bool PacketEngine::transmits_by_station(std::int32_t injector) {
  return stations_ && stations_->transmit(injector);
}

}  // namespace gradhaul
