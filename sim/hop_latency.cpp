#include "sim/hop_latency.h"

#include <algorithm>

#include "core/protocol.h"
#include "core/topology_size.h"

namespace gradhaul {

HopLatency::HopLatency(const Fabric& fabric, int ranks_per_node, Protocol protocol)
    : fabric_(fabric), ranks_per_node_(ranks_per_node), protocol_(protocol) {}

HopLatency::HopLatency(const Fabric& fabric, int ranks_per_node, const Communication& communication)
    : HopLatency(fabric, ranks_per_node, communication.protocol) {
  posting_ = {communication.thread_step, communication.blue_flame, communication.flush};
}

HopLatency::Key HopLatency::key_of(const Hop& hop, Bytes size) const {
  const Cluster& cluster = fabric_.cluster();
  const bool alike = cluster.faults.empty();
  const Rank source = alike ? -1 : hop.source;
  const Rank destination = alike ? -1 : hop.destination;
  // Within a node, NVLink makes all pairs of GPUs alike.
  if (hop.source_nic < 0 && cluster.node.nvlink) {
    return {-1, -1, -1, -1, -1, 0, size.count, source, destination};
  }
  const auto leaf = [&](Rank rank, int nic) {
    return leaf_of(cluster.network.topology, cluster.nodes, cluster.node.nic_count,
                   rank / ranks_per_node_, nic);
  };
  const int cables =
      hop.source_nic < 0
          ? 0
          : cables_between(cluster.network.topology, leaf(hop.source, hop.source_nic),
                           leaf(hop.destination, hop.destination_nic));
  return {hop.source % ranks_per_node_,
          hop.relay_gpu,
          hop.source_nic,
          hop.destination_nic,
          hop.destination % ranks_per_node_,
          cables,
          size.count,
          source,
          destination};
}

MessageTime HopLatency::message(const Hop& hop, Bytes size) {
  const auto [place, added] = messages_.try_emplace(key_of(hop, size));
  if (added) {
    IdleConnection connection(fabric_, ranks_per_node_, hop, protocol_, posting_);
    MessageTime& time = place->second;
    const Bytes lines = with_flags(protocol_, size);
    time.arrived = {connection.send(lines)};
    time.done = {connection.done()};
    time.spacing = Duration{connection.send(lines)} - time.arrived;
  }
  return place->second;
}

Duration HopLatency::slot_return(const Hop& hop) {
  const auto [place, added] = returns_.try_emplace(key_of(hop, {}));
  if (added) {
    Hop back;
    back.source = hop.destination;
    back.destination = hop.source;
    back.source_nic = hop.destination_nic;
    back.destination_nic = hop.source_nic;
    back.staged_out = hop.staged_in;
    back.staged_in = hop.staged_out;
    place->second = {
        IdleConnection(fabric_, ranks_per_node_, back, Protocol::kSimple, posting_).credit()};
  }
  return place->second;
}

Duration HopLatency::kernel(Rank rank, ReduceKind kind, Bytes size) const {
  const GpuModel& gpu = fabric_.cluster().node.gpu;
  const BitRate rate = fabric_.reduce_rate(rank / ranks_per_node_, rank % ranks_per_node_);
  SerialisationCarry kernel;
  SerialisationCarry memory;
  const std::int64_t passes = kind == ReduceKind::kReduce ? 3 : 2;
  const Bytes lines = with_flags(protocol_, size);
  return std::max(serialisation_time(lines, rate, kernel),
                  serialisation_time(lines * passes, gpu.memory_bandwidth, memory));
}

Trace HopLatency::message_parts(const Hop& hop, Bytes size) const {
  IdleConnection connection(fabric_, ranks_per_node_, hop, protocol_, posting_);
  const std::int64_t arrived = connection.send(with_flags(protocol_, size));
  return connection.parts(arrived);
}

}  // namespace gradhaul
