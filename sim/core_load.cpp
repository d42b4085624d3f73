#include "sim/core_load.h"

#include <algorithm>

#include "core/arrival_flush.h"
#include "core/protocol.h"
#include "core/tcp_settings.h"
#include "sim/host_cores.h"

namespace gradhaul {
namespace {

Duration work_of(const TcpSettings& tcp, Bytes packet, Bytes size, bool receiving) {
  const Bytes aggregate = tcp_aggregate(packet);
  const Bytes rest{size.count % aggregate.count};
  return tcp_work(tcp, packet, aggregate, receiving) * (size.count / aggregate.count) +
         (rest.count > 0 ? tcp_work(tcp, packet, rest, receiving) : Duration{});
}

}  // namespace

void count_cores(const Hop& hop, const ConnectionTraffic& traffic, ResourceLoad& load) {
  const Fabric& fabric = load.fabric();
  const Cluster& cluster = fabric.cluster();
  const TcpSettings& tcp = *cluster.network.tcp;
  for (const bool receiving : {false, true}) {
    const Rank rank = receiving ? hop.destination : hop.source;
    const int node = rank / load.ranks_per_node();
    const bool relayed = !receiving && hop.relay_gpu >= 0;
    const int gpu = relayed ? hop.relay_gpu : rank % load.ranks_per_node();
    CoreLoad& cores = load.cores[static_cast<std::size_t>(node * cluster.node.gpu_count + gpu)];
    cores.sockets += tcp.sockets;
    // Slots are given back by whoever has taken data in.
    cores.credits +=
        tcp_work(tcp, cluster.network.mtu, kTcpCredit, !receiving) * traffic.messages();
    for (int i = 0; i < traffic.sizes; ++i) {
      const MessageCount& messages = traffic.by_size[static_cast<std::size_t>(i)];
      cores.data += work_of(tcp, cluster.network.mtu, messages.size, receiving) * messages.count;
    }
    const std::int64_t payload = traffic.payload().count;
    for (const RouteHop& step : fabric.host_copy(node, fabric.host_socket(node, gpu))) {
      LinkLoad& link = load.links[static_cast<std::size_t>(step.link)];
      link.wire += Bytes{kCopyPasses * payload};
      link.units += (payload + kCopiedAtOnce - 1) / kCopiedAtOnce;
    }
  }
}

// As PacketTransport::plan_turns() has it.
void count_turns(const Hop& hop, std::int64_t messages, const Communication& communication,
                 ResourceLoad& load) {
  const Node& node = load.fabric().cluster().node;
  const Duration turn = communication.thread_step;
  const Duration post = turn + node.nic.post;
  const bool polled = polls_data(communication.protocol);
  // What follows the last message follows the end.
  const std::int64_t followed = messages - 1;
  ThreadLoad& sender = load.threads[static_cast<std::size_t>(hop.source)];
  sender.data += post * messages;
  sender.rest += turn * (polled ? followed : 2 * followed);
  ThreadLoad& receiver = load.threads[static_cast<std::size_t>(hop.destination)];
  if (!polled || hop.staged_in) receiver.data += turn * messages;
  if (!hop.staged_in && flushes(communication.flush, communication.protocol, node.gpu)) {
    receiver.data += (turn + post) * messages;
  }
  receiver.rest += post * followed;
}

Duration ResourceLoad::thread_time() const {
  Duration most;
  for (const ThreadLoad& thread : threads) most = std::max(most, thread.data + thread.rest);
  return most;
}

Duration ResourceLoad::thread_bound() const {
  Duration most;
  for (const ThreadLoad& thread : threads) most = std::max(most, thread.data);
  return most;
}

// All of them together.
Duration ResourceLoad::all_core_time(int gpu) const {
  const CoreLoad& load = cores[static_cast<std::size_t>(gpu)];
  return load.data + load.credits;
}

// The one that has most: sockets have as much to do each, and are dealt over the cores.
Duration ResourceLoad::core_time(int gpu) const {
  const CoreLoad& load = cores[static_cast<std::size_t>(gpu)];
  if (load.sockets == 0) return {};
  const std::int64_t each = fabric_.cluster().network.tcp->cores;
  const std::int64_t most = (load.sockets + each - 1) / each;
  const Int128 time = Int128{all_core_time(gpu).ps} * most / load.sockets;
  return {static_cast<std::int64_t>(time)};
}

// However sockets are dealt.
Duration ResourceLoad::core_bound(int gpu) const {
  const CoreLoad& load = cores[static_cast<std::size_t>(gpu)];
  if (load.sockets == 0) return {};
  const std::int64_t each = fabric_.cluster().network.tcp->cores;
  return {load.data.ps / std::min(load.sockets, each)};
}

}  // namespace gradhaul
