// What stations do about credits of wires: where these are waited for they are taken and given back
// as the plain engine does, else it is only watched that none run out.

#include <algorithm>

#include "sim/packet_transport.h"
#include "sim/stations.h"

namespace gradhaul {

// INT64_MAX: it is not known, see CreditGate.
std::int64_t Stations::start_for_credits(CreditGate& gate, const WaitingPacket& first,
                                         std::int64_t due) {
  if (first.packet == kNone) {
    return gate.start(due, plain_[static_cast<std::size_t>(first.hop)].credits, false);
  }
  const Packet& packet = engine_.packet(first.packet);
  return gate.start(due, engine_.form_of(engine_.hop_of(packet), packet).credits,
                    packet.trace != kNone);
}

std::int64_t Stations::take_credits_and_serve(Packet& packet, LinkId link, std::int64_t start) {
  const std::int64_t units = engine_.form_of(engine_.hop_of(packet), packet).credits;
  ResourceId culprit = engine_.state(link).resource;
  if (waits_) {
    const ResourceId held_up =
        gates_[static_cast<std::size_t>(link)].take(packet.ready, start, units);
    if (held_up != kNoResource) culprit = held_up;
  } else {
    credits_[static_cast<std::size_t>(link)].take(start, units);
  }
  const std::int64_t serialisation = serve(packet, link, start);
  if (packet.ingress_units > 0) give_back(packet, start, serialisation, culprit);
  return serialisation;
}

void Stations::give_back(const Packet& leaving, std::int64_t start, std::int64_t serialisation,
                         ResourceId culprit) {
  if (!waits_) return release(leaving, start + serialisation);
  engine_.now_ = start;
  engine_.give_back(leaving, start, serialisation, culprit, false);
}

// Of a packet that goes nowhere from there.
void Stations::empty_far_buffer(Packet& packet, LinkId link, std::int64_t start,
                                std::int64_t serialisation) {
  if (waits_) {
    engine_.now_ = start;
    return engine_.empty_far_buffer(packet, link, serialisation);
  }
  release(packet, start + serialisation + engine_.state(link).latency);
  packet.ingress_units = 0;
}

void Stations::give_back(const WaitingPacket& plain, const PlainHop& form, std::int64_t time,
                         ResourceId held_up) {
  LinkState& before = engine_.link_state(plain.ingress);
  const ResourceId culprit =
      held_up == kNoResource ? form.culprit : engine_.copies_.seen(held_up, form.shift);
  before.credits[static_cast<int>(TrafficClass::kPosted)].add(
      {time + before.return_after_leaving, 0, plain.ingress_units, culprit, form.order});
}

// Brings on those behind a wire, until it is known what is back when the wire wants it.
void Stations::tell_credits(std::size_t station) {
  const CreditGate* gate =
      station < nics_.size() ? nics_[station].gate : wires_[station - nics_.size()].gate;
  const std::int64_t least = gate->clock_to_know();
  for (const std::size_t output : outputs_[station]) bring(output, least);
}

// Before the run: how credits are given back after a plain packet that leaves by this hop, as
// PacketEngine::give_back() does of any.
void Stations::give_back_after(PlainHop& plain, std::int32_t number, int ingress_copy,
                               std::int32_t order) {
  const PacketEngine::FlowHop& hop = engine_.hops_[static_cast<std::size_t>(number)];
  plain.shift = engine_.copies_.minus(hop.copy, ingress_copy);
  plain.culprit = engine_.copies_.seen(engine_.state(hop.link).resource, plain.shift);
  plain.order = order;
}

void Stations::leads_to(LinkId wire, std::size_t station) {
  const auto from = static_cast<std::size_t>(station_of_[static_cast<std::size_t>(wire)]);
  std::vector<std::size_t>& outputs = outputs_[from];
  if (std::find(outputs.begin(), outputs.end(), station) != outputs.end()) return;
  outputs.push_back(station);
  if (waits_) gates_[static_cast<std::size_t>(wire)].add_output(clocks_[station]);
}

// One for each wire, those of NICs too.
void Stations::add_gates() {
  if (!waits_) return;
  gates_.resize(engine_.states_.size());
  const auto guard = [&](LinkId link, LinkState& state) {
    CreditGate& gate = gates_[static_cast<std::size_t>(link)];
    gate.guard(state);
    return &gate;
  };
  for (Nic& nic : nics_) nic.gate = guard(nic.links.out, *nic.out);
  for (Wire& wire : wires_) wire.gate = guard(wire.link, *wire.state);
}

}  // namespace gradhaul
