#include "sim/world_report.h"

#include <algorithm>

#include "sim/path_report.h"

namespace gradhaul {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_links(const PacketWorld& world, std::vector<ResourceUse>& uses) {
  const Fabric& fabric = world.fabric();
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const Link& link = fabric.links()[i];
    const LinkState& state = world.link(static_cast<LinkId>(i));
    if (state.digest.count == 0) continue;
    ResourceUse& use = uses[static_cast<std::size_t>(link.resource)];
    use.utilisation =
        std::max(use.utilisation, share(world.busy(static_cast<LinkId>(i)), world.end()));
    use.bytes += Bytes{state.payload_total};
  }
}

void add_gpus(const PacketWorld& world, std::vector<ResourceUse>& uses) {
  const Cluster& cluster = world.fabric().cluster();
  for (Rank rank = 0; rank < world.ranks(); ++rank) {
    const int node = rank / cluster.ranks_per_node;
    const int gpu = rank % cluster.ranks_per_node;
    ResourceUse& reduce = uses[static_cast<std::size_t>(world.fabric().reduce_resource(node, gpu))];
    reduce.bytes = {world.kernel_bytes(rank)};
    reduce.utilisation = share(world.kernel_busy(rank), world.end() * world.channels());
    ResourceUse& memory = uses[static_cast<std::size_t>(world.fabric().memory_resource(node, gpu))];
    memory.bytes = {world.memory_bytes(rank)};
    memory.utilisation = share(world.memory_busy(rank), world.end());
  }
}

}  // namespace

std::vector<ResourceUse> resource_uses(const PacketWorld& world) {
  std::vector<ResourceUse> uses = named_uses(world.fabric().resources());
  add_links(world, uses);
  add_gpus(world, uses);
  finish_uses(world.critical_path(), uses);
  return uses;
}

std::vector<PortCounters> port_counters(const PacketWorld& world) {
  std::vector<PortCounters> counters;
  for (std::size_t i = 0; i < world.fabric().links().size(); ++i) {
    const Link& link = world.fabric().links()[i];
    if (link.port.empty()) continue;
    const std::int64_t stalled = world.stalled(static_cast<LinkId>(i));
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
  return time_parts(world.critical_path(), world.fabric().resources());
}

std::string limited_by(const PacketWorld& world, const std::vector<ResourceUse>& resources) {
  return limiting_resource(world.critical_path(), world.fabric().resources(), resources);
}

}  // namespace gradhaul
