#include "sim/world_report.h"

#include <algorithm>
#include <map>

namespace gradhaul {
namespace {

// From here on a resource counts as busy all the time: what is missing is the beginning and the
// end.
constexpr double kNearlyBusy = 0.8;
// Less of the critical path than this in returned slots is chance.
constexpr double kSlotShare = 0.05;
constexpr double kEqual = 1e-3;
// With less of the critical path than this, a kind of resource is there by chance.
constexpr double kOnPath = 0.05;

bool is_latency(Cause cause) {
  return cause == Cause::kLatency || cause == Cause::kDoorbell || cause == Cause::kCompletion ||
         cause == Cause::kFlag || cause == Cause::kLaunch;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_links(const PacketWorld& world, std::vector<ResourceUse>& uses) {
  const Fabric& fabric = world.fabric();
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const Link& link = fabric.links()[i];
    const LinkState& state = world.engine().state(static_cast<LinkId>(i));
    if (state.digest.count == 0) continue;
    const std::int64_t after = std::max<std::int64_t>(0, state.free - world.end());
    ResourceUse& use = uses[static_cast<std::size_t>(link.resource)];
    use.utilisation = std::max(use.utilisation, share(state.busy_total - after, world.end()));
    use.bytes += Bytes{state.payload_total};
  }
}

void add_gpus(const PacketWorld& world, std::vector<ResourceUse>& uses) {
  const Cluster& cluster = world.fabric().cluster();
  for (Rank rank = 0; rank < world.ranks(); ++rank) {
    const int node = rank / cluster.ranks_per_node;
    const int gpu = rank % cluster.ranks_per_node;
    ResourceUse& reduce = uses[static_cast<std::size_t>(world.fabric().reduce_resource(node, gpu))];
    reduce.bytes = {world.kernels().bytes(rank)};
    reduce.utilisation = share(world.kernels().busy(rank), world.end() * world.channels());
    ResourceUse& memory = uses[static_cast<std::size_t>(world.fabric().memory_resource(node, gpu))];
    const int index = node * cluster.node.gpu_count + gpu;
    memory.bytes = {world.memory().bytes(index)};
    memory.utilisation = share(world.memory().busy(index), world.end());
  }
}

}  // namespace

std::vector<ResourceUse> resource_uses(const PacketWorld& world) {
  const std::vector<Resource>& resources = world.fabric().resources();
  std::vector<ResourceUse> uses(resources.size());
  for (std::size_t i = 0; i < resources.size(); ++i) {
    uses[i].name = resources[i].name;
    uses[i].kind = resources[i].kind;
  }
  add_links(world, uses);
  add_gpus(world, uses);
  for (const TracePart& part : world.critical_path()) {
    if (part.resource == kNoResource) continue;
    uses[static_cast<std::size_t>(part.resource)].blame += Duration{part.ps};
  }
  std::erase_if(uses, [](const ResourceUse& use) {
    return use.bytes.count == 0 && use.utilisation == 0 && use.blame.ps == 0;
  });
  std::sort(uses.begin(), uses.end(),
            [](const ResourceUse& a, const ResourceUse& b) { return a.name < b.name; });
  return uses;
}

std::vector<PortCounters> port_counters(const PacketWorld& world) {
  std::vector<PortCounters> counters;
  for (std::size_t i = 0; i < world.fabric().links().size(); ++i) {
    const Link& link = world.fabric().links()[i];
    if (link.port.empty()) continue;
    const std::int64_t stalled = world.engine().stall_total(static_cast<LinkId>(i));
    if (stalled == 0) continue;
    PortCounters port;
    port.port = link.port;
    // A port of a lossless InfiniBand network waits for nothing but credits.
    port.xmit_wait = {stalled};
    port.out_of_credits = {stalled};
    counters.push_back(port);
  }
  std::sort(counters.begin(), counters.end(),
            [](const PortCounters& a, const PortCounters& b) { return a.port < b.port; });
  return counters;
}

std::vector<TimePart> time_parts(const PacketWorld& world) {
  std::vector<TimePart> parts;
  for (const TracePart& part : world.critical_path()) {
    TimePart shown;
    if (part.resource != kNoResource) {
      shown.resource = world.fabric().resources()[static_cast<std::size_t>(part.resource)].name;
    }
    shown.cause = name_of(part.cause);
    shown.time = {part.ps};
    parts.push_back(shown);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const TimePart& a, const TimePart& b) {
    if (a.time != b.time) return a.time > b.time;
    return std::pair(a.resource, a.cause) < std::pair(b.resource, b.cause);
  });
  return parts;
}

namespace {

// The busiest of a kind, and how many are as busy.
struct Busiest {
  const ResourceUse* use = nullptr;  // the first of those that share the first place
  int equal = 0;
  double utilisation = 0;
};

Busiest busiest_of(const std::string& kind, const std::vector<ResourceUse>& resources) {
  Busiest busiest;
  for (const ResourceUse& use : resources) {
    if (use.kind == kind) busiest.utilisation = std::max(busiest.utilisation, use.utilisation);
  }
  for (const ResourceUse& use : resources) {
    if (use.kind != kind || use.utilisation < busiest.utilisation * (1 - kEqual)) continue;
    if (++busiest.equal == 1) busiest.use = &use;
  }
  return busiest;
}

// Of the critical path, in ps.
struct PathShares {
  std::map<std::string, std::int64_t> by_kind;
  std::int64_t latency = 0;
  std::int64_t slots = 0;
  std::int64_t whole = 0;
};

PathShares path_shares(const PacketWorld& world) {
  PathShares shares;
  for (const TracePart& part : world.critical_path()) {
    shares.whole += part.ps;
    if (part.cause == Cause::kSlots) {
      shares.slots += part.ps;
    } else if (is_latency(part.cause) || part.resource == kNoResource) {
      shares.latency += part.ps;
    } else {
      const auto resource = static_cast<std::size_t>(part.resource);
      shares.by_kind[world.fabric().resources()[resource].kind] += part.ps;
    }
  }
  return shares;
}

// The kind that the path waits most for; but where that is not nearly busy, it only passes on what
// a busy one makes wait behind it, or stands where slack would be: then the busiest on the path.
Busiest narrowest(const PathShares& shares, const std::vector<ResourceUse>& resources) {
  const auto most =
      std::max_element(shares.by_kind.begin(), shares.by_kind.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == shares.by_kind.end() || most->second <= shares.latency) return {};
  const Busiest first = busiest_of(most->first, resources);
  if (first.utilisation >= kNearlyBusy) return first;
  Busiest narrow;
  for (const auto& [kind, ps] : shares.by_kind) {
    if (share(ps, shares.whole) < kOnPath) continue;
    const Busiest busiest = busiest_of(kind, resources);
    if (busiest.utilisation > narrow.utilisation) narrow = busiest;
  }
  return narrow.utilisation >= kNearlyBusy ? narrow : first;
}

}  // namespace

std::string limited_by(const PacketWorld& world, const std::vector<ResourceUse>& resources) {
  const PathShares shares = path_shares(world);
  const Busiest narrow = narrowest(shares, resources);
  const bool nearly_busy = narrow.use != nullptr && narrow.utilisation >= kNearlyBusy;
  if (!nearly_busy && share(shares.slots, shares.whole) >= kSlotShare) return "slots";
  if (narrow.use == nullptr) return "latency";
  return narrow.equal > 1 ? narrow.use->name + " (" + std::to_string(narrow.equal) + " equal)"
                          : narrow.use->name;
}

}  // namespace gradhaul
