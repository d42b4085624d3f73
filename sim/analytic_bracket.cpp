#include "sim/analytic_bracket.h"

#include <algorithm>

#include "core/collective_algorithms.h"

namespace gradhaul {
namespace {

// See the head of the header.
constexpr std::int64_t kQueueShare = 8;
constexpr std::int64_t kControlShare = 32;

// Per message of data.
Duration message_time(const ResourceLoad& load, LinkId id) {
  return {load.busy(id).ps / load.links[static_cast<std::size_t>(id)].messages};
}

bool carries_data(const LinkLoad& link) { return link.messages > 0; }

// The longest that a slice is on the links of a resource, or in its kernel.
Duration time_on(const ResourceLoad& load, const CollectiveChain& chain, HopLatency& latency,
                 ResourceId resource) {
  const Fabric& fabric = load.fabric();
  Duration longest;
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    if (fabric.link(id).resource != resource || !carries_data(load.links[i])) continue;
    longest = std::max(longest, message_time(load, id));
  }
  const std::string& kind = fabric.resources()[static_cast<std::size_t>(resource)].kind;
  if (kind == "thread") {
    for (const ChainStep& step : chain.steps) {
      longest = std::max(longest, latency.message(step.hop, chain.slice).spacing);
    }
  }
  if (kind != "reduce") return longest;
  for (const ChainStep& step : chain.steps) {
    longest = std::max(
        longest, latency.kernel(step.hop.destination, step.kind, chain.slice) * step.operations);
  }
  return longest;
}

// X + R of the chain's slowest hop.
Duration slowest_step(const CollectiveChain& chain, HopLatency& latency) {
  Duration slowest;
  for (const ChainStep& step : chain.steps) {
    const Duration kernel =
        latency.kernel(step.hop.destination, step.kind, chain.slice) * step.operations;
    slowest = std::max(slowest, latency.message(step.hop, chain.slice).arrived + kernel);
  }
  return slowest;
}

// (n - 1) burst t of the link where it is longest; and the greatest n.
struct Sharing {
  Duration wait;
  std::int64_t connections = 1;
};
Sharing sharing_of(const ResourceLoad& load, std::int64_t burst) {
  Sharing sharing;
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const LinkLoad& link = load.links[i];
    if (!carries_data(link)) continue;
    const Duration slice = message_time(load, static_cast<LinkId>(i));
    sharing.wait = std::max(sharing.wait, slice * burst * (link.connections - 1));
    sharing.connections = std::max(sharing.connections, link.connections);
  }
  return sharing;
}

bool shares_pcie(const ResourceLoad& load) {
  const Fabric& fabric = load.fabric();
  bool uplinks = false;
  bool shared = false;
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const Link& link = fabric.link(static_cast<LinkId>(i));
    if (link.kind != LinkKind::kPcie || load.links[i].routes == 0) continue;
    const std::string& kind = fabric.resources()[static_cast<std::size_t>(link.resource)].kind;
    uplinks = uplinks || kind == "pcie_uplink";
    shared = shared || load.links[i].routes > 1;
  }
  return uplinks && shared;
}

// Both directions of a rank, say, meet at its cores.
bool shares_cores(const ResourceLoad& load) {
  return std::any_of(load.cores.begin(), load.cores.end(), [&](const CoreLoad& cores) {
    return cores.sockets > load.fabric().cluster().network.tcp->sockets;
  });
}

// Different pairs of ends, on a link that is worth waiting for.
bool is_met_on(const ResourceLoad& load, LinkId id, Duration most) {
  return load.links[static_cast<std::size_t>(id)].routes > 1 && load.busy(id).ps >= most.ps / 2;
}

// Buffers that some fill whose next link is full hold up others, whose own is free.
bool meets_twice(const ResourceLoad& load, Duration most) {
  const Network& network = load.fabric().cluster().network;
  if (network.kind == NetworkKind::kIdeal || network.drops()) return false;
  return std::any_of(load.onward.begin(), load.onward.end(), [&](const auto& passed) {
    const auto& [links, routes] = passed;
    const auto others = [&, count = routes](LinkId id) {
      return load.links[static_cast<std::size_t>(id)].routes > count;
    };
    return is_met_on(load, links.first, most) && is_met_on(load, links.second, most) &&
           others(links.first) && others(links.second);
  });
}

bool meets_on_network(const ResourceLoad& load, Duration most) {
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    if (is_packet_network(load.fabric().link(id).kind) && is_met_on(load, id, most)) return true;
  }
  return false;
}

// K
Duration busiest_kernel(const ResourceLoad& load) {
  Duration most;
  for (Rank rank = 0; rank < load.ranks(); ++rank) {
    for (int channel = 0; channel < load.channels(); ++channel) {
      most = std::max(most, load.kernel_time(rank, channel));
    }
  }
  return most;
}

// h
Duration head_of_line(const ResourceLoad& load, const AnalyticBracket& bracket, Duration idle) {
  Duration most;
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    const Link& link = load.fabric().link(id);
    const bool held = (bracket.shares_pcie && link.kind == LinkKind::kPcie) ||
                      (bracket.meets_twice && is_packet_network(link.kind));
    if (held && load.links[i].routes > 1) most = std::max(most, load.busy(id));
  }
  return std::max(Duration{}, Duration{most.ps / 3 * 4} - idle);
}

// w
Duration waiting(const PredictionRequest& request, const ResourceLoad& load,
                 const CollectiveChain& chain, const AnalyticBracket& bracket) {
  const Duration lesser = std::min(bracket.load, bracket.chain);
  if (request.workload.collective == Collective::kAllToAll) return bracket.load + lesser;
  const bool ring = runs_rings(request.workload.collective, request.communication.algorithm);
  if (!ring || bracket.shares_pcie || shares_cores(load)) return lesser;
  const Duration kernel = busiest_kernel(load);
  const bool kernels = kernel.ps >= bracket.load.ps / 2 && meets_on_network(load, bracket.load);
  if (bracket.meets_twice || kernels) {
    return std::min(bracket.load, std::max(bracket.chain, kernel));
  }
  const std::int64_t burst = std::min<std::int64_t>(request.communication.slots, chain.slices);
  const Sharing sharing = sharing_of(load, burst);
  const std::int64_t n = sharing.connections;
  const Duration queues{lesser.ps / kQueueShare / n * (n - 1)};
  return std::min(lesser, sharing.wait + queues);
}

}  // namespace

AnalyticBracket bracket_of(const PredictionRequest& request, const ResourceLoad& load,
                           const CollectiveChain& chain, const SlotBound& slots,
                           HopLatency& latency) {
  AnalyticBracket bracket;
  const bool ring = runs_rings(request.workload.collective, request.communication.algorithm);
  bracket.chain = chain.total;
  bracket.slots = slots.time();
  for (const ResourceBound& bound : load.bounds()) {
    if (bound.time <= bracket.load) continue;
    bracket.load = bound.time;
    bracket.busiest = bound.resource;
  }
  bracket.threads = load.thread_time();
  bracket.lower = std::max({bracket.load, bracket.chain, bracket.slots, load.thread_bound()});
  // Trailing bytes are no bound, but most of them do take their time.
  Duration busy = bracket.load;
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    busy = std::max(busy, load.busy(static_cast<LinkId>(i)));
  }
  for (std::size_t i = 0; i < load.cores.size(); ++i) {
    busy = std::max(busy, load.core_time(static_cast<int>(i)));
  }
  Duration idle = busy;
  if (bracket.busiest != kNoResource) {
    const Duration slice = time_on(load, chain, latency, bracket.busiest);
    const Duration fill = slowest_step(chain, latency) - slice;
    idle += std::max(fill, Duration{});
  }
  if (chain.likely > idle) bracket.limit = AnalyticLimit::kChain;
  idle = std::max(idle, chain.likely);
  if (bracket.slots > idle) bracket.limit = AnalyticLimit::kSlots;
  idle = std::max(idle, bracket.slots);
  if (bracket.threads > idle) bracket.limit = AnalyticLimit::kThreads;
  idle = std::max(idle, bracket.threads);
  bracket.shares_pcie = shares_pcie(load);
  bracket.meets_twice = ring && meets_twice(load, bracket.load);
  const Duration lesser = std::min(bracket.load, bracket.chain);
  // A channel's own data turns are in its chain.
  const Duration others{bracket.threads.ps - load.thread_bound().ps / load.channels()};
  const Duration wait = waiting(request, load, chain, bracket) + std::min(others, bracket.chain);
  const Duration held = head_of_line(load, bracket, idle);
  bracket.estimate = idle + Duration{wait.ps / kQueueShare + held.ps / 2};
  // A wave of first slices, one of each channel, waits for itself at each hop.
  Duration waves;
  if (ring && request.workload.collective == Collective::kBroadcast) {
    waves = sharing_of(load, 1).wait * static_cast<std::int64_t>(chain.steps.size());
  }
  Duration cores;  // c
  if (!load.cores.empty()) cores = shares_cores(load) ? bracket.load : lesser;
  bracket.upper = idle + std::max(wait, waves) + held + cores + Duration{lesser.ps / kControlShare};
  return bracket;
}

}  // namespace gradhaul
