#include "sim/load_report.h"

#include <algorithm>
#include <utility>

#include "sim/path_report.h"

namespace gradhaul {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? std::min(1.0, static_cast<double>(part) / static_cast<double>(whole)) : 0;
}

void add_links(const ResourceLoad& load, std::int64_t end, std::vector<ResourceUse>& uses) {
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    const Link& link = load.fabric().link(id);
    ResourceUse& use = uses[static_cast<std::size_t>(link.resource)];
    use.utilisation = std::max(use.utilisation, share(load.busy(id).ps, end));
    if (counts_bytes(link)) use.bytes += load.links[i].payload;
  }
}

void add_gpus(const ResourceLoad& load, std::int64_t end, std::vector<ResourceUse>& uses) {
  const Fabric& fabric = load.fabric();
  const int per_node = fabric.cluster().node.gpu_count;
  for (Rank rank = 0; rank < load.ranks(); ++rank) {
    const int gpu = load.gpu_of(rank);
    ResourceUse& reduce =
        uses[static_cast<std::size_t>(fabric.reduce_resource(gpu / per_node, gpu % per_node))];
    std::int64_t busy = 0;
    for (int channel = 0; channel < load.channels(); ++channel) {
      busy += load.kernel_time(rank, channel).ps;
      reduce.bytes += load.kernel(rank, channel).bytes;
    }
    reduce.utilisation = share(busy, end * load.channels());
    ResourceUse& memory =
        uses[static_cast<std::size_t>(fabric.memory_resource(gpu / per_node, gpu % per_node))];
    memory.bytes = load.memory[static_cast<std::size_t>(gpu)].bytes;
    memory.utilisation = share(load.memory_time(gpu).ps, end);
  }
}

void add_cores(const ResourceLoad& load, std::int64_t end, std::vector<ResourceUse>& uses) {
  const Fabric& fabric = load.fabric();
  const int per_node = fabric.cluster().node.gpu_count;
  for (std::size_t i = 0; i < load.cores.size(); ++i) {
    const auto gpu = static_cast<int>(i);
    ResourceUse& use =
        uses[static_cast<std::size_t>(fabric.thread_resource(gpu / per_node, gpu % per_node))];
    const int cores = fabric.cluster().network.tcp->cores;
    use.utilisation = share(load.all_core_time(gpu).ps, end * cores);
  }
}

// Beside the threads that poll: what else TCP takes of the node that it takes most of.
double helping_cores(const ResourceLoad& load, std::int64_t end) {
  const int per_node = load.fabric().cluster().node.gpu_count;
  std::vector<std::int64_t> helpers(load.cores.size() / static_cast<std::size_t>(per_node), 0);
  for (std::size_t i = 0; i < load.cores.size(); ++i) {
    const auto gpu = static_cast<int>(i);
    helpers[i / static_cast<std::size_t>(per_node)] +=
        (load.all_core_time(gpu) - load.core_time(gpu)).ps;
  }
  const std::int64_t most = *std::max_element(helpers.begin(), helpers.end());
  return static_cast<double>(most) / static_cast<double>(end);
}

// Those that did nothing are left out.
std::vector<ResourceUse> resource_uses(const ResourceLoad& load, std::int64_t end,
                                       const std::vector<TracePart>& path) {
  std::vector<ResourceUse> uses = named_uses(load.fabric().resources());
  add_links(load, end, uses);
  add_gpus(load, end, uses);
  add_cores(load, end, uses);
  finish_uses(path, uses);
  return uses;
}

}  // namespace

void add_row(const ResourceLoad& load, const std::vector<TracePart>& path, ResultRow row,
             Prediction& prediction) {
  const std::vector<Resource>& resources = load.fabric().resources();
  row.held = load.holdings.held(row.channels, row.size);
  row.setup = load.holdings.setup(row.size);
  for (const Bytes sent : load.sent) {
    row.bytes_sent_per_rank = std::max(row.bytes_sent_per_rank, sent);
  }
  if (!load.cores.empty() && row.time.ps > 0) row.cpu_cores += helping_cores(load, row.time.ps);
  prediction.resources = resource_uses(load, row.time.ps, path);
  row.parts = time_parts(path, resources);
  row.limited_by = limiting_resource(path, resources, prediction.resources);
  prediction.rows.push_back(std::move(row));
}

void add_to_digest(const ResourceLoad& load, RunDigest& digest) {
  for (std::size_t i = 0; i < load.links.size(); ++i) {
    const LinkLoad& link = load.links[i];
    const LinkKind kind = load.fabric().link(static_cast<LinkId>(i)).kind;
    if (kind == LinkKind::kHostMemory && link.units == 0) continue;
    digest.add(static_cast<std::uint64_t>(link.payload.count));
    digest.add(static_cast<std::uint64_t>((link.wire + link.trailing).count));
  }
}

}  // namespace gradhaul
