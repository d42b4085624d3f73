#include "sim/world_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/packet_loss.h"
#include "core/port_trouble.h"
#include "sim/host_counters.h"
#include "sim/path_report.h"

namespace gradhaul {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void add_links(const FinishedRun& world, std::vector<ResourceUse>& uses) {
  const Fabric& fabric = world.fabric();
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const Link& link = fabric.links()[i];
    const LinkState& state = world.link(static_cast<LinkId>(i));
    if (state.digest.count == 0) continue;
    ResourceUse& use = uses[static_cast<std::size_t>(link.resource)];
    use.utilisation =
        std::max(use.utilisation, share(world.busy(static_cast<LinkId>(i)), world.end()));
    if (counts_bytes(link)) use.bytes += Bytes{state.payload_total};
  }
}

void add_gpus(const FinishedRun& world, std::vector<ResourceUse>& uses) {
  const Cluster& cluster = world.fabric().cluster();
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int gpu = 0; gpu < cluster.node.gpu_count; ++gpu) {
      const GpuUse did = world.gpu_use(node, gpu);
      ResourceUse& reduce =
          uses[static_cast<std::size_t>(world.fabric().reduce_resource(node, gpu))];
      reduce.bytes = {did.reduced};
      reduce.utilisation = share(did.kernel_time, world.end() * did.channels);
      ResourceUse& memory =
          uses[static_cast<std::size_t>(world.fabric().memory_resource(node, gpu))];
      memory.bytes = {did.memory_bytes};
      memory.utilisation = share(did.memory_time, world.end());
      const ResourceId thread = world.fabric().thread_resource(node, gpu);
      if (thread == kNoResource) continue;
      ResourceUse& cores = uses[static_cast<std::size_t>(thread)];
      cores.bytes = {did.thread_bytes};
      cores.utilisation = share(did.thread_time, world.end() * cluster.network.tcp->cores);
    }
  }
}

void add_notifications(const FinishedRun& world, std::map<std::string, PortCounters>& ports) {
  const Cluster& cluster = world.fabric().cluster();
  if (!cluster.network.congestion.dcqcn) return;
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int nic = 0; nic < cluster.node.nic_count; ++nic) {
      const std::string name = "node" + std::to_string(node) + ".nic" + std::to_string(nic);
      ports[name].cnp = world.notifications(node, nic).sent;
    }
  }
}

// What a link has lost is dropped by the port at its far end.
void add_losses(const FinishedRun& world, std::map<std::string, PortCounters>& ports) {
  const Fabric& fabric = world.fabric();
  const Cluster& cluster = fabric.cluster();
  for (std::size_t i = 0; i < fabric.links().size(); ++i) {
    const LinkState& state = world.link(static_cast<LinkId>(i));
    if (state.discarded > 0) ports[fabric.links()[i].port].tx_discards += state.discarded;
    const std::int64_t lost = world.losses(static_cast<LinkId>(i)).lost;
    if (lost + state.spilt == 0) continue;
    PortCounters& far = ports[fabric.link(fabric.reverse_of(fabric.links()[i])).port];
    far.dropped += lost;
    far.rx_discards += state.spilt;
  }
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int nic = 0; nic < cluster.node.nic_count; ++nic) {
      const std::string name = "node" + std::to_string(node) + ".nic" + std::to_string(nic);
      const RecoveryCounts counts = world.recovery(node, nic);
      PortCounters& port = ports[name];  // which is left out again where it has nothing
      port.retransmitted = counts.retransmitted;
      port.out_of_sequence = counts.out_of_sequence;
      port.packet_seq_err = counts.packet_seq_err;
      port.local_ack_timeout_err = counts.local_ack_timeout_err;
      port.rnr_nak_retry_err = counts.rnr_nak_retry_err;
    }
  }
}

}  // namespace

std::vector<ResourceUse> resource_uses(const FinishedRun& world) {
  std::vector<ResourceUse> uses = named_uses(world.fabric().resources());
  add_links(world, uses);
  add_gpus(world, uses);
  finish_uses(world.critical_path(), uses);
  return uses;
}

std::vector<PortCounters> port_counters(const FinishedRun& world) {
  std::map<std::string, PortCounters> ports;
  for (std::size_t i = 0; i < world.fabric().links().size(); ++i) {
    const Link& link = world.fabric().links()[i];
    if (link.port.empty()) continue;
    const auto id = static_cast<LinkId>(i);
    PortCounters& port = ports[link.port];
    // A port of a lossless network waits for nothing but credits, or while it is paused.
    port.xmit_wait = {world.stalled(id)};
    port.ecn_marked = world.link(id).marked;
    if (!link.pause.lossless()) {
      port.out_of_credits = port.xmit_wait;
      continue;
    }
    const LosslessBuffers::Totals pauses = world.pauses(id);
    port.pfc_paused = {pauses.paused};
    port.pfc_pause_frames = pauses.frames;
    ports[world.fabric().link(link.pause.reverse).port].pfc_pause_frames_sent = pauses.frames;
  }
  add_notifications(world, ports);
  add_losses(world, ports);
  name_as_on_host(world, ports);
  std::vector<PortCounters> counters;
  for (auto& [name, port] : ports) {
    if (!counts_trouble(port) && port.as_on_host.empty()) continue;
    port.port = name;
    counters.push_back(std::move(port));
  }
  return counters;
}

std::vector<TimePart> time_parts(const FinishedRun& world) {
  return time_parts(world.critical_path(), world.fabric().resources());
}

std::string limited_by(const FinishedRun& world, const std::vector<ResourceUse>& resources) {
  return limiting_resource(world.critical_path(), world.fabric().resources(), resources);
}

}  // namespace gradhaul
