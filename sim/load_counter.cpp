// The counting half of sim/resource_load.h: messages become packets, TLPs and requests; what one
// node sends is gathered by the ends it runs between, and laid on the links of each route once.

#include <algorithm>

#include "core/ecmp.h"
#include "core/make_schedule.h"
#include "core/network_framing.h"
#include "core/protocol.h"
#include "sim/copy_engine.h"
#include "sim/core_load.h"
#include "sim/counted_flow.h"
#include "sim/existing_path.h"
#include "sim/injector.h"
#include "sim/payload_routes.h"
#include "sim/resource_load.h"

namespace gradhaul {
namespace {

using Flow = CountedFlow;

class LoadCounter final : public TrafficSink {
 public:
  LoadCounter(const PredictionRequest& request, const Fabric& fabric, const Placement& placement,
              TrafficSink* also, ResourceLoad& load);
  void on_connection(const ConnectionTraffic& traffic) override;
  void on_kernel(Rank rank, int channel, const KernelTraffic& traffic) override;
  void on_rank_end(Rank rank) override;

 private:
  Flow flow_of(const ConnectionTraffic& traffic, std::int64_t packet);
  const Flow& message_flow(std::int64_t size, std::int64_t packet);
  void add_packets(Flow& flow, std::int64_t payload, std::int64_t packets) const;
  Hop hop_of(const ConnectionKey& key);
  void count_by_nic(const Hop& hop, const ConnectionTraffic& traffic);
  void lay_own_way(const Hop& hop, const ConnectionKey& key, const Flow& flow);
  void lay_wire(NicLoad& nic, const Route& route, const Route& back, const Flow& flow);
  void lay_copies(int node, int gpu);
  void lay_copy_out(int node, int gpu, int socket, const Flow& flow);
  void lay_copy_in(int node, int gpu, int socket, const Flow& flow);
  void lay_peers(int node, int source, int destination, const Flow& flow);
  void lay_node(int node);
  void lay_reads(int node);
  void lay_wires(int node);
  void lay(const Route& route, TrafficClass traffic_class, const Flow& flow);
  void lay_control(const Route& route, Bytes least, Bytes trailing, std::int64_t packets);

  int node_of(Rank rank) const { return rank / placement_.ranks_per_node; }
  int gpu_of(Rank rank) const { return rank % placement_.ranks_per_node; }
  std::size_t pair(int first, int second, int seconds) const {
    return static_cast<std::size_t>(first) * static_cast<std::size_t>(seconds) +
           static_cast<std::size_t>(second);
  }

  const Fabric& fabric_;
  const Placement& placement_;
  const Cluster& cluster_;
  const Node& node_;
  std::uint64_t seed_;
  const Communication& communication_;
  TrafficSink* also_;
  ResourceLoad& load_;
  Bytes split_;
  Bytes host_piece_;
  std::int64_t known_size_ = 0;
  std::int64_t known_packet_ = 0;
  Flow known_;
  // Of the node that is being walked: by NIC and GPU; by GPUs; by NIC and far NIC.
  std::vector<Flow> reads_;
  std::vector<Flow> peers_;
  std::vector<Flow> wires_;
  std::vector<Flow> writes_;  // of all nodes, by NIC and GPU
  // Of what is staged for NICs, by GPU of the cluster: to host memory, and from there.
  std::vector<Flow> copies_out_;
  std::vector<Flow> copies_in_;
  std::vector<Hop> hops_;  // by channel and GPUs
};

LoadCounter::LoadCounter(const PredictionRequest& request, const Fabric& fabric,
                         const Placement& placement, TrafficSink* also, ResourceLoad& load)
    : fabric_(fabric),
      placement_(placement),
      cluster_(fabric.cluster()),
      node_(cluster_.node),
      seed_(request.seed),
      communication_(request.communication),
      also_(also),
      load_(load) {
  const PcieSettings& pcie = node_.pcie_settings;
  split_ = std::min(pcie.max_payload, node_.root_complex.tlp_split.value_or(pcie.max_payload));
  host_piece_ = std::min(pcie.max_payload, node_.root_complex.read_completion);
  const auto gpus = static_cast<std::size_t>(node_.gpu_count);
  const auto nics = static_cast<std::size_t>(node_.nic_count);
  const auto nodes = static_cast<std::size_t>(cluster_.nodes);
  reads_.resize(nics * gpus);
  peers_.resize(gpus * gpus);
  wires_.resize(nics * nodes * nics);
  writes_.resize(nodes * nics * gpus);
  copies_out_.resize(nodes * gpus);
  copies_in_.resize(nodes * gpus);
  hops_.resize(static_cast<std::size_t>(placement.channels) * gpus * gpus);
}

void LoadCounter::add_packets(Flow& flow, std::int64_t payload, std::int64_t packets) const {
  if (payload == 0) return;
  const PcieSettings& pcie = node_.pcie_settings;
  flow.packets += packets;
  flow.requests += packets * pieces(payload, pcie.max_read_request.count);
  flow.tlps += packets * pieces(payload, pcie.max_payload.count);
  flow.split_tlps += packets * pieces(payload, split_.count);
  flow.host_tlps += packets * pieces(payload, host_piece_.count);
}

// Of one message; most have the size of the one before.
const Flow& LoadCounter::message_flow(std::int64_t size, std::int64_t packet) {
  if (size != known_size_ || packet != known_packet_) {
    known_size_ = size;
    known_packet_ = packet;
    known_ = {0, 1, size, 0, 0, 0, 0, 0};
    add_packets(known_, packet, size / packet);
    add_packets(known_, size % packet, 1);
  }
  return known_;
}

Flow LoadCounter::flow_of(const ConnectionTraffic& traffic, std::int64_t packet) {
  Flow flow;
  for (int i = 0; i < traffic.sizes; ++i) {
    const MessageCount& messages = traffic.by_size[static_cast<std::size_t>(i)];
    flow.add(message_flow(messages.size.count, packet), messages.count);
  }
  flow.connections = 1;
  return flow;
}

// Where NICs are chosen by nearness, a hop is the same for its channel and GPUs of any two nodes.
Hop LoadCounter::hop_of(const ConnectionKey& key) {
  const auto between = [&] {
    return hop_between(placement_, cluster_, key.channel, key.source, key.destination);
  };
  const bool within = node_of(key.source) == node_of(key.destination);
  if (placement_.nic_rule != NicRule::kNearestToRanks || within) return between();
  Hop& known = hops_[pair(static_cast<int>(pair(key.channel, gpu_of(key.source), node_.gpu_count)),
                          gpu_of(key.destination), node_.gpu_count)];
  if (known.source_nic < 0) known = between();
  known.source = key.source;
  known.destination = key.destination;
  return known;
}

void LoadCounter::on_connection(const ConnectionTraffic& traffic) {
  if (also_ != nullptr) also_->on_connection(traffic);
  const ConnectionKey& key = traffic.key;
  const Hop hop = hop_of(key);
  load_.sent[static_cast<std::size_t>(key.source)] += traffic.payload();
  load_.messages += traffic.messages();
  const ConnectionTraffic lines = in_lines(communication_.protocol, traffic);
  const Bytes payload = lines.payload();
  MemoryLoad& written = load_.memory[static_cast<std::size_t>(load_.gpu_of(key.destination))];
  written.bytes += payload;
  written.bounding += payload;
  if (hop.source_nic >= 0) return count_by_nic(hop, lines);
  load_.memory[static_cast<std::size_t>(load_.gpu_of(key.source))].bytes += payload;
  peers_[pair(gpu_of(key.source), gpu_of(key.destination), node_.gpu_count)].add(
      flow_of(lines, kPeerTrain), 1);
}

void LoadCounter::count_by_nic(const Hop& hop, const ConnectionTraffic& traffic) {
  const int gpu = gpu_of(hop.source);
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : gpu;
  const int node = node_of(hop.source);
  const int far_nic = node_of(hop.destination) * node_.nic_count + hop.destination_nic;
  const Flow flow = flow_of(traffic, cluster_.network.mtu.count);
  load_.holdings.add(node * node_.nic_count + hop.source_nic, far_nic, hop.source, hop.destination);
  load_.memory[pair(node, reading, node_.gpu_count)].bytes += Bytes{flow.payload};
  if (hop.relay_gpu >= 0) peers_[pair(gpu, reading, node_.gpu_count)].add(flow, 1);
  reads_[pair(hop.source_nic, reading, node_.gpu_count)].add(flow, 1);
  if (hop.staged_out) {
    copies_out_[pair(node, reading, node_.gpu_count)].add(flow_of(traffic, kCopyTrain), 1);
  }
  if (hop.staged_in) {
    copies_in_[pair(node_of(hop.destination), gpu_of(hop.destination), node_.gpu_count)].add(
        flow_of(traffic, kCopyTrain), 1);
  }
  if (cluster_.network.routing != Routing::kStatic) {
    lay_own_way(hop, traffic.key, flow);
  } else {
    wires_[pair(hop.source_nic, far_nic, cluster_.nodes * node_.nic_count)].add(flow, 1);
  }
  writes_[pair(far_nic, gpu_of(hop.destination), node_.gpu_count)].add(flow, 1);
  load_.packets += flow.packets;
  if (cluster_.network.tcp) count_cores(hop, traffic, load_);
  if (!load_.threads.empty()) count_turns(hop, traffic.messages(), communication_, load_);
}

// By the way of its queue pair. Of several, or where each packet goes its own, it is not known here
// which carries what: counted are the links that all of them cross, the first and the last one.
void LoadCounter::lay_own_way(const Hop& hop, const ConnectionKey& key, const Flow& flow) {
  if (node_.bonded_nics && communication_.queue_pairs > 1) return;  // none that all of them cross
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  Route there = fabric_.wire(from, hop.source_nic, to, hop.destination_nic,
                             udp_source_port(seed_, key, false, 0, false));
  if (there.empty()) existing_wire(fabric_, from, hop.source_nic, to, hop.destination_nic);
  Route back = fabric_.wire(to, hop.destination_nic, from, hop.source_nic,
                            udp_source_port(seed_, key, false, 0, true));
  for (Route* route : {&there, &back}) {
    const bool many = communication_.queue_pairs > 1 || cluster_.network.routing != Routing::kEcmp;
    if (many && route->size() > 2) *route = {route->front(), route->back()};
  }
  lay_wire(load_.nics[pair(from, hop.source_nic, node_.nic_count)], there, back, flow);
}

void LoadCounter::lay_wire(NicLoad& nic, const Route& route, const Route& back, const Flow& flow) {
  nic.resource = fabric_.link(route.front().link).resource;
  const Network& network = cluster_.network;
  lay(route, TrafficClass::kPosted, flow);
  load_.add_onward(route);
  if (network.kind == NetworkKind::kIdeal) return;
  const Bytes message = network.tcp ? Bytes{} : kRethBytes + kImmediateBytes;
  const Bytes answer = network.tcp ? Bytes{} : kAethBytes;
  const Bytes answers = (packet_overhead(network) + answer) * flow.messages;
  lay_control(route, message * flow.messages, answers, 0);
  // Nobody waits for an acknowledgement of TCP.
  const Bytes credits = (packet_overhead(network) + message) * flow.messages;
  lay_control(back, network.tcp ? Bytes{} : answers, network.tcp ? credits + answers : credits,
              flow.messages);
}

void LoadCounter::on_kernel(Rank rank, int channel, const KernelTraffic& traffic) {
  if (also_ != nullptr) also_->on_kernel(rank, channel, traffic);
  KernelTraffic& kernel = load_.kernels[pair(rank, channel, load_.channels())];
  kernel = traffic;
  kernel.bytes = with_flags_at_least(communication_.protocol, traffic.bytes);
  kernel.memory = with_flags_at_least(communication_.protocol, traffic.memory);
  MemoryLoad& memory = load_.memory[static_cast<std::size_t>(load_.gpu_of(rank))];
  memory.bytes += kernel.memory;
  memory.bounding += kernel.memory;
}

void LoadCounter::on_rank_end(Rank rank) {
  if (also_ != nullptr) also_->on_rank_end(rank);
  if ((rank + 1) % placement_.ranks_per_node == 0) lay_node(node_of(rank));
  if (rank + 1 < cluster_.ranks()) return;
  for (int node = 0; node < cluster_.nodes; ++node) {
    for (int nic = 0; nic < node_.nic_count; ++nic) {
      for (int gpu = 0; gpu < node_.gpu_count; ++gpu) {
        const Flow& flow = writes_[pair(node * node_.nic_count + nic, gpu, node_.gpu_count)];
        if (flow.messages == 0) continue;
        const bool staged = !placement_.gpudirect.of(gpu, nic).writes;
        lay(write_route(fabric_, node, nic, gpu, staged), TrafficClass::kPosted, flow);
      }
    }
    for (int gpu = 0; gpu < node_.gpu_count; ++gpu) lay_copies(node, gpu);
  }
}

void LoadCounter::lay_copies(int node, int gpu) {
  const Flow out = copies_out_[pair(node, gpu, node_.gpu_count)].again();
  const Flow in = copies_in_[pair(node, gpu, node_.gpu_count)].again();
  if (out.messages + in.messages == 0) return;
  const int socket = fabric_.host_socket(node, gpu);
  if (out.messages > 0) lay_copy_out(node, gpu, socket, out);
  if (in.messages > 0) lay_copy_in(node, gpu, socket, in);
}

void LoadCounter::lay_copy_out(int node, int gpu, int socket, const Flow& flow) {
  lay(copy_out_route(fabric_, node, gpu, socket), TrafficClass::kPosted, flow);
}

void LoadCounter::lay_copy_in(int node, int gpu, int socket, const Flow& flow) {
  const ReadRoutes routes = copy_in_routes(fabric_, node, gpu, socket);
  lay(routes.request, TrafficClass::kNonPosted, flow);
  lay(routes.completion, TrafficClass::kCompletion, flow);
}

void LoadCounter::lay_node(int node) {
  lay_reads(node);
  lay_wires(node);
  for (int source = 0; source < node_.gpu_count; ++source) {
    for (int destination = 0; destination < node_.gpu_count; ++destination) {
      Flow& flow = peers_[pair(source, destination, node_.gpu_count)];
      if (flow.messages == 0) continue;
      lay_peers(node, source, destination, flow);
      flow = {};
    }
  }
}

void LoadCounter::lay_peers(int node, int source, int destination, const Flow& flow) {
  if (!peers_are_staged(node_, source, destination)) {
    lay(existing_peer(fabric_, node, source, destination), TrafficClass::kPosted, flow);
    return;
  }
  const int socket = fabric_.host_socket(node, source);
  lay_copy_out(node, source, socket, flow);
  lay_copy_in(node, destination, socket, flow.again());
}

void LoadCounter::lay_reads(int node) {
  for (int nic = 0; nic < node_.nic_count; ++nic) {
    NicLoad& load = load_.nics[pair(node, nic, node_.nic_count)];
    for (int gpu = 0; gpu < node_.gpu_count; ++gpu) {
      Flow& flow = reads_[pair(nic, gpu, node_.gpu_count)];
      if (flow.messages == 0) continue;
      const bool staged = !placement_.gpudirect.of(gpu, nic).reads;
      const auto [request, completion, reading] = read_routes(fabric_, node, nic, gpu, staged);
      lay(request, TrafficClass::kNonPosted, flow);
      lay(completion, TrafficClass::kCompletion, flow);
      load.messages += flow.messages;
      if (!completion.empty()) {
        Duration latency = reading;
        for (const RouteHop& hop : request) latency += fabric_.link(hop.link).latency;
        for (const RouteHop& hop : completion) latency += fabric_.link(hop.link).latency;
        load.read_resource = fabric_.link(completion.back().link).resource;
        load.tag_time += Int128{flow.requests} * latency.ps;
        load.buffer_time += Int128{flow.payload} * (latency + node_.nic.transmit_latency).ps;
      }
      flow = {};
    }
  }
}

void LoadCounter::lay_wires(int node) {
  const int far_nics = cluster_.nodes * node_.nic_count;
  for (int nic = 0; nic < node_.nic_count; ++nic) {
    for (int far = 0; far < far_nics; ++far) {
      Flow& flow = wires_[pair(nic, far, far_nics)];
      if (flow.messages == 0) continue;
      const int far_node = far / node_.nic_count;
      const int far_nic = far % node_.nic_count;
      lay_wire(load_.nics[pair(node, nic, node_.nic_count)],
               existing_wire(fabric_, node, nic, far_node, far_nic),
               fabric_.wire(far_node, far_nic, node, nic), flow);
      flow = {};
    }
  }
}

void LoadCounter::lay(const Route& route, TrafficClass traffic_class, const Flow& flow) {
  const bool request = traffic_class == TrafficClass::kNonPosted;
  for (std::size_t i = 0; i < route.size(); ++i) {
    const RouteHop& hop = route[i];
    const Link& link = fabric_.link(hop.link);
    LinkLoad& load = load_.links[static_cast<std::size_t>(hop.link)];
    std::int64_t units = 0;
    if (hop.unit.count > 0) {
      units = hop.unit == node_.pcie_settings.max_payload ? flow.tlps
              : hop.unit == host_piece_                   ? flow.host_tlps
                                                          : flow.split_tlps;
    } else if (request) {
      units = flow.requests;
    } else {
      units = link.kind == LinkKind::kNvlink ? flow.messages : flow.packets;
    }
    load.units += units;
    if (!request) {
      load.payload += Bytes{flow.payload};
      ++load.routes;
      const bool memory = link.kind == LinkKind::kHostMemory && link.name.ends_with(".memory");
      load.connections += memory && flow.known_in_memory ? 0 : flow.connections;
      load.messages += flow.messages;
    }
    const Bytes wire = hop.overhead * units + Bytes{request ? 0 : flow.payload};
    load.wire += wire;
    Int128& held = load.credit_time[static_cast<int>(traffic_class)];
    if (link.kind == LinkKind::kInfiniband) {
      // From when a packet leaves, across the wire and out of the far buffer.
      held += Int128{wire.count / kCreditBlockBytes} * (link.latency + link.credit_return).ps;
    } else {
      // Given back when the unit leaves the far buffer; at the end of a route at once.
      const bool ends = i + 1 == route.size();
      const Duration away = ends ? link.credit_return : std::max(link.credit_return, link.latency);
      held += Int128{units} * away.ps;
    }
  }
}

void LoadCounter::lay_control(const Route& route, Bytes least, Bytes trailing,
                              std::int64_t packets) {
  for (const RouteHop& hop : route) {
    LinkLoad& load = load_.links[static_cast<std::size_t>(hop.link)];
    load.wire += least;
    load.trailing += trailing;
    load.units += packets;
  }
}

}  // namespace

ResourceLoad count_load(const PredictionRequest& request, const Fabric& fabric,
                        const Placement& placement, std::int64_t count, TrafficSink* also) {
  ResourceLoad load(fabric, placement.ranks_per_node, placement.channels, request.communication);
  LoadCounter counter(request, fabric, placement, also, load);
  count_traffic(request, placement, count, counter);
  return load;
}

}  // namespace gradhaul
