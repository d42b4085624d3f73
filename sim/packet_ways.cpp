// How the plain engine chooses a way for each packet at a switch from which several lead on: by a
// draw (spray), or the one whose queue is shortest when the packet comes (adaptive), equal ones by
// a draw. Draws are hashes of seed, switch and the packet's number there. Ports that are down are
// out of the question as long as any other is up; what is down further on a switch does not know.

#include "core/infiniband_framing.h"
#include "sim/packet_engine.h"

namespace gradhaul {

// Their first link is the one that all ways share, and is counted once.
void PacketEngine::add_other_ways(const FlowSpec& spec, Flow& flow) {
  if (spec.others.empty()) return;
  if (choices_.empty()) choices_.resize(states_.size(), 0);
  flow.ways = static_cast<std::int16_t>(1 + spec.others.size());
  flow.spines = static_cast<std::int16_t>(spec.spines);
  const auto hop_at = [&](int way, int hop) -> FlowHop& {
    return hops_[static_cast<std::size_t>(flow.first_hop + way * flow.hops + hop)];
  };
  for (const Route& other : spec.others) {
    GRADHAUL_ASSERT(other.size() == spec.route.size(), "all ways have as many links");
    add_hops(spec, other);
    --flows_on_link_[static_cast<std::size_t>(other.front().link)];
    for (std::size_t i = 1; i < other.size(); ++i) add_feeder(other[i], other[i - 1].link, 0);
  }
  const bool adaptive = fabric_.cluster().network.routing == Routing::kAdaptive;
  for (int way = 0; way < flow.ways; ++way) {
    for (const int hop : {1, 2}) {
      FlowHop& chosen = hop_at(way, hop);
      chosen.chooses = hop == 1 || flow.ways > flow.spines;
      if (adaptive) link_state(chosen.link).counts_queue = true;
    }
    // When a packet may start is known before its way is.
    FlowHop& shared = hop_at(0, 0);
    const FlowHop& parts = hop_at(way, 0);
    shared.next_is_slower = shared.next_is_slower && parts.next_is_slower;
    shared.next_wants_whole = shared.next_wants_whole || parts.next_wants_whole;
  }
}

void PacketEngine::choose_way(Packet& arriving) {
  const Flow& flow = flows_[static_cast<std::size_t>(arriving.flow)];
  const int place = arriving.hop - flow.first_hop;
  const int hop = place % flow.hops;
  // Behind its first link all ways are open, behind the second those past this spine.
  const int step = hop == 1 ? 1 : flow.spines;
  const int first = place / flow.hops % step;
  const auto hop_by = [&](int way) { return flow.first_hop + way * flow.hops + hop; };
  const auto link_by = [&](int way) { return hops_[static_cast<std::size_t>(hop_by(way))].link; };
  open_ways_.clear();
  for (int way = first; way < flow.ways; way += step) {
    if (!is_down(link_by(way))) open_ways_.push_back(way);
  }
  if (open_ways_.empty()) {
    for (int way = first; way < flow.ways; way += step) open_ways_.push_back(way);
  }
  const auto here = static_cast<std::size_t>(link_by(first));
  const std::uint64_t draw =
      mix64(mix64(seed_ + here + 0x3A75'0000'0000) +
            static_cast<std::uint64_t>(choices_[here]++) * 0x9E3779B97F4A7C15);
  // Of the least loaded, the first from the one that is drawn on.
  int best = open_ways_[draw % open_ways_.size()];
  if (fabric_.cluster().network.routing == Routing::kAdaptive) {
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < open_ways_.size(); ++i) {
      const int way = open_ways_[(draw % open_ways_.size() + i) % open_ways_.size()];
      const std::int64_t load = load_of(link_by(way));
      if (load >= least) continue;
      least = load;
      best = way;
    }
  }
  arriving.hop = hop_by(best);
}

bool PacketEngine::is_down(LinkId link) const {
  for (const Outage& outage : fabric_.link(link).outages) {
    if (outage.from.ps <= now_ && now_ < outage.until.ps) return true;
  }
  return false;
}

// Bytes on the wire that what comes now would wait for.
std::int64_t PacketEngine::load_of(LinkId link) const {
  const LinkState& chosen = state(link);
  const std::int64_t waiting = chosen.queued * (chosen.ethernet ? 1 : kCreditBlockBytes);
  const std::int64_t left = chosen.free > now_ ? chosen.free - now_ : 0;
  // Of one packet: its bits times 10^12 at the most.
  return waiting + (left * (chosen.rate / 8) + 999'999'999'999) / 1'000'000'000'000;
}

}  // namespace gradhaul
