// How stations are made of a plan: rings before links, entries of flows, credits to be watched.

#include <algorithm>
#include <memory>

#include "core/assert.h"
#include "sim/stations.h"
#include "sim/wiring.h"

namespace gradhaul {
namespace {

constexpr int kPosted = static_cast<int>(TrafficClass::kPosted);
constexpr int kNonPosted = static_cast<int>(TrafficClass::kNonPosted);
constexpr int kCompletion = static_cast<int>(TrafficClass::kCompletion);

}  // namespace

Stations::Stations(PacketEngine& engine, const StationPlan& plan, std::uint32_t wake)
    : engine_(engine), wake_(wake), window_(plan.window) {
  const std::size_t links = engine_.states_.size();
  credits_.resize(links);
  nic_of_out_.resize(links, kNone);
  wire_of_.resize(links, kNone);
  ring_from_.resize(links);
  add_nics(plan);
  add_wires(plan);
  add_entries(plan);
}

std::int32_t Stations::add_ring() {
  rings_.emplace_back();
  return static_cast<std::int32_t>(rings_.size() - 1);
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

void Stations::add_nics(const StationPlan& plan) {
  for (const StationPlan::Nic& links : plan.nics) {
    Nic& nic = nics_.emplace_back();
    nic.links = links;
    for (std::int32_t& ring : nic.out_rings) ring = add_ring();
    for (std::int32_t& ring : nic.up_rings) ring = add_ring();
    watch(nic.writes, links.up, kPosted);
    watch(nic.requests, links.up, kNonPosted);
    watch(nic.answers, links.answer, kCompletion);
    if (links.up[1] != kNoLink && engine_.state(links.up[1]).credits[kPosted].guarded()) {
      nic.whole_writes = engine_.state(links.up[1]).credits[kPosted].window() / 2;
    }
    const auto number = static_cast<std::int32_t>(nics_.size() - 1);
    nic_of_out_[static_cast<std::size_t>(links.out)] = number;
    credits_[static_cast<std::size_t>(links.out)].start_with(
        engine_.state(links.out).credits[kPosted].window());
    if (links.injector == kNone) continue;
    const auto injector = static_cast<std::size_t>(links.injector);
    if (injector >= nic_of_injector_.size()) nic_of_injector_.resize(injector + 1, kNone);
    nic_of_injector_[injector] = number;
  }
}

void Stations::add_wires(const StationPlan& plan) {
  for (const LinkId link : plan.wires) {
    wire_of_[static_cast<std::size_t>(link)] = static_cast<std::int32_t>(wires_.size());
    wires_.push_back({link, INT64_MAX, {}});
    credits_[static_cast<std::size_t>(link)].start_with(
        engine_.state(link).credits[kPosted].window());
  }
  for (const PacketEngine::Flow& flow : engine_.flows_) {
    for (int i = 1; i < flow.hops; ++i) {
      const auto hop = static_cast<std::size_t>(flow.first_hop + i);
      const LinkId link = engine_.hops_[hop].link;
      const LinkId before = engine_.hops_[hop - 1].link;
      const std::int32_t wire = wire_of_[static_cast<std::size_t>(link)];
      if (wire == kNone) continue;
      auto& from = ring_from_[static_cast<std::size_t>(link)];
      const bool known = std::any_of(from.begin(), from.end(),
                                     [&](const auto& entry) { return entry.first == before; });
      if (known) continue;
      from.emplace_back(before, add_ring());
      wires_[static_cast<std::size_t>(wire)].rings.push_back(from.back().second);
    }
  }
}

// By kind: data and credits of a NIC come to its wire by different ways, each in its own order.
Stations::Entry Stations::entry_of(FlowId flow) const {
  const auto kind = static_cast<FlowKind>(engine_.kind(flow));
  const PacketEngine::Flow& f = engine_.flows_[static_cast<std::size_t>(flow)];
  const LinkId first = engine_.first_link(flow);
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    const Nic& nic = nics_[i];
    const auto number = static_cast<std::int32_t>(i);
    if (first == nic.links.out) {
      const bool data = kind == FlowKind::kWire && f.data;
      const int way = data ? 0 : kind == FlowKind::kWire ? 1 : 2;
      return {kRing, nic.out_rings[way], number};
    }
    if (first == nic.links.up[0]) {
      return {kRing, nic.up_rings[kind == FlowKind::kReadRequest ? 0 : 1], number};
    }
    if (first == nic.links.answer[0]) return {kAnswer, kNone, number};
  }
  return {};
}

void Stations::add_entries(const StationPlan& plan) {
  GRADHAUL_ASSERT(plan.nics.size() == nics_.size(), "entries lead to stations that are there");
  for (std::size_t i = 0; i < engine_.flows_.size(); ++i) {
    entries_.push_back(entry_of(static_cast<FlowId>(i)));
  }
}

void PacketEngine::step_by_stations(const StationPlan& plan, std::uint32_t wake) {
  stations_ = std::make_unique<Stations>(*this, plan, wake);
}

void PacketEngine::stretch_windows(int times) { stations_->stretch_windows(times); }

bool PacketEngine::wakes_by_station(std::int32_t injector, std::int64_t time) {
  return stations_ && stations_->wake_at(injector, time);
}

}  // namespace gradhaul
