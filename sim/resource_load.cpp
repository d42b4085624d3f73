#include "sim/resource_load.h"

#include <algorithm>

#include "core/infiniband_framing.h"
#include "sim/injector.h"

namespace gradhaul {
namespace {

std::int64_t quotient(Int128 dividend, std::int64_t divisor) {
  return static_cast<std::int64_t>(dividend / divisor);
}

Duration rounded_down(Bytes bytes, BitRate rate) {
  SerialisationCarry carry;
  return serialisation_time(bytes, rate, carry);
}

}  // namespace

ResourceLoad::ResourceLoad(const Fabric& fabric, int ranks_per_node, int channels,
                           const Communication& communication)
    : holdings(fabric.cluster(), communication),
      fabric_(fabric),
      ranks_per_node_(ranks_per_node),
      channels_(channels) {
  const Cluster& cluster = fabric.cluster();
  const auto ranks = static_cast<std::size_t>(cluster.nodes * ranks_per_node);
  links.resize(fabric.links().size());
  kernels.resize(ranks * static_cast<std::size_t>(channels));
  memory.resize(static_cast<std::size_t>(cluster.nodes * cluster.node.gpu_count));
  nics.resize(static_cast<std::size_t>(cluster.nodes * cluster.node.nic_count));
  sent.resize(ranks);
  if (cluster.network.tcp) cores.resize(memory.size());
  if (!cluster.network.tcp && communication.thread_step.ps > 0) threads.resize(ranks);
}

void ResourceLoad::add_onward(const Route& route) {
  constexpr std::int64_t kMost = 65536;
  if (routes_onward_++ >= kMost) return;
  for (std::size_t i = 1; i < route.size(); ++i) ++onward[{route[i - 1].link, route[i].link}];
}

int ResourceLoad::gpu_of(Rank rank) const { return fabric_.cluster().gpu_of(rank); }

Duration ResourceLoad::busy(LinkId id) const {
  const LinkLoad& load = links[static_cast<std::size_t>(id)];
  return rounded_down(load.wire + load.trailing, fabric_.link(id).rate);
}

// The packet model rounds each train down to picoseconds unless it follows another without a gap,
// and may cut trains between units.
Duration ResourceLoad::least_busy(LinkId id) const {
  const LinkLoad& load = links[static_cast<std::size_t>(id)];
  const Duration exact = rounded_down(load.wire, fabric_.link(id).rate);
  return {std::max<std::int64_t>(0, exact.ps - load.units)};
}

// Those away at the end need not have come back.
Duration ResourceLoad::credit_bound(LinkId id) const {
  const Link& link = fabric_.link(id);
  const LinkLoad& load = links[static_cast<std::size_t>(id)];
  Duration most;
  for (int c = 0; c < kTrafficClasses; ++c) {
    if (link.window[c] == 0) continue;
    const Duration held{quotient(load.credit_time[c], link.window[c])};
    most = std::max(most, held - link.credit_return - link.latency);
  }
  return most;
}

Duration ResourceLoad::nic_bound(const NicLoad& nic) const {
  const std::int64_t rate = fabric_.cluster().node.nic.message_rate;
  if (rate == 0 || nic.messages == 0) return {};
  return {1'000'000'000'000 / rate * (nic.messages - 1)};
}

Duration ResourceLoad::read_bound(const NicLoad& nic) const {
  const Node& node = fabric_.cluster().node;
  const std::int64_t mtu = fabric_.cluster().network.mtu.count;
  const std::int64_t buffer = node.nic.transmit_buffer.count > 0
                                  ? std::max(node.nic.transmit_buffer.count, mtu)
                                  : kUnboundedBufferPackets * mtu;
  Duration least{quotient(nic.buffer_time, buffer)};
  const int tags = node.pcie_settings.tags;
  if (tags > 0) least = std::max(least, Duration{quotient(nic.tag_time, tags)});
  return least;
}

Duration ResourceLoad::occupied(LinkId id) const {
  const LinkLoad& load = links[static_cast<std::size_t>(id)];
  Duration most = busy(id);
  for (int c = 0; c < kTrafficClasses; ++c) {
    const std::int64_t window = fabric_.link(id).window[c];
    if (window > 0) most = std::max(most, Duration{quotient(load.credit_time[c], window)});
  }
  return most;
}

Duration ResourceLoad::occupied(const NicLoad& nic) const {
  const std::int64_t rate = fabric_.cluster().node.nic.message_rate;
  const Duration posting{rate > 0 ? 1'000'000'000'000 / rate * nic.messages : 0};
  return std::max(posting, read_bound(nic));
}

Duration ResourceLoad::kernel_time(Rank rank, int channel) const {
  const int per_node = fabric_.cluster().node.gpu_count;
  const BitRate rate = fabric_.reduce_rate(gpu_of(rank) / per_node, gpu_of(rank) % per_node);
  return rounded_down(kernel(rank, channel).bytes, rate);
}

Duration ResourceLoad::memory_time(int gpu) const {
  return rounded_down(memory[static_cast<std::size_t>(gpu)].bytes,
                      fabric_.cluster().node.gpu.memory_bandwidth);
}

std::vector<ResourceBound> ResourceLoad::bounds() const {
  std::vector<ResourceBound> found;
  const auto add = [&](Duration time, ResourceId resource) {
    if (time.ps > 0) found.push_back({time, resource});
  };
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto id = static_cast<LinkId>(i);
    if (links[i].units == 0) continue;
    add(std::max(least_busy(id), credit_bound(id)), fabric_.link(id).resource);
  }
  for (const NicLoad& nic : nics) {
    add(nic_bound(nic), nic.resource);
    add(read_bound(nic), nic.read_resource);
  }
  const int per_node = fabric_.cluster().node.gpu_count;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    const int node = gpu_of(rank) / per_node;
    const int gpu = gpu_of(rank) % per_node;
    Duration kernel_most;
    for (int channel = 0; channel < channels_; ++channel) {
      // Operations are rounded down like trains.
      const Duration time = kernel_time(rank, channel);
      kernel_most = std::max(kernel_most, Duration{time.ps - kernel(rank, channel).operations});
    }
    add(kernel_most, fabric_.reduce_resource(node, gpu));
    const MemoryLoad& load = memory[static_cast<std::size_t>(gpu_of(rank))];
    const Duration memory_least =
        rounded_down(load.bounding, fabric_.cluster().node.gpu.memory_bandwidth);
    // Booked slice by slice, a reduction and an arrival each.
    const std::int64_t rounding = 2 * kernel_operations(rank);
    add({memory_least.ps - rounding}, fabric_.memory_resource(node, gpu));
    if (!cores.empty()) add(core_bound(gpu_of(rank)), fabric_.thread_resource(node, gpu));
  }
  return found;
}

std::int64_t ResourceLoad::kernel_operations(Rank rank) const {
  std::int64_t sum = 0;
  for (int channel = 0; channel < channels_; ++channel) sum += kernel(rank, channel).operations;
  return sum;
}

Duration ResourceLoad::bound() const {
  Duration most;
  for (const ResourceBound& one : bounds()) most = std::max(most, one.time);
  return most;
}

}  // namespace gradhaul
