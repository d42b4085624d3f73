#include "sim/wiring.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/arrival_flush.h"
#include "core/assert.h"
#include "core/ecmp.h"
#include "core/prediction_request.h"
#include "sim/flush_time.h"
#include "sim/receive_wiring.h"
#include "sim/shared_flows.h"

namespace gradhaul {
namespace {

using Order = FlowOrder;

class WiringBuilder {
 public:
  WiringBuilder(const Fabric& fabric, const Placement& placement, const Membership& members,
                const WiringSettings& settings)
      : fabric_(fabric),
        cluster_(fabric.cluster()),
        node_(fabric.cluster().node),
        placement_(placement),
        members_(members),
        settings_(settings),
        free_control_(cluster_.network.kind == NetworkKind::kIdeal),
        places_(ring_places(placement)),
        shared_(fabric, [this](SharedFlows::NewFlow flow) {
          return add_flow(std::move(flow.route), flow.traffic_class, flow.kind, flow.data,
                          flow.order, flow.answers);
        }) {}

  // Places and channel of a connection, and the nodes from its source to its destination.
  std::array<std::int32_t, 4> shape(const ConnectionKey& key) const {
    const std::vector<std::int32_t>& places = places_[static_cast<std::size_t>(key.channel)];
    const int apart = node_of(key.destination) - node_of(key.source);
    return {places[static_cast<std::size_t>(key.source)],
            places[static_cast<std::size_t>(key.destination)], key.channel,
            (apart + cluster_.nodes) % cluster_.nodes};
  }
  bool same_places(const ConnectionKey& a, const ConnectionKey& b) const {
    const auto one = shape(a);
    const auto other = shape(b);
    return one[0] == other[0] && one[1] == other[1];
  }
  void add_connection(const ConnectionKey& key);
  Wiring finish();

 private:
  struct Draft {
    Order order{};
    FlowSpec spec;
  };

  int node_of(Rank rank) const { return members_.gpu(rank) / node_.gpu_count; }
  int gpu_of(Rank rank) const { return members_.gpu(rank) % node_.gpu_count; }
  FlowId add_flow(Route route, TrafficClass traffic_class, FlowKind kind, bool data,
                  const Order& order, FlowId answers = kNone);
  FlowId add_flow_of(const ConnectionKey& key, bool credit, Route route, FlowKind kind, bool data,
                     int queue_pair = 0);
  void add_wires(const ConnectionKey& key, const Hop& hop, bool credit, Path& path);
  void add_dma(const Hop& hop, int reading, Path& path);
  Path path_between(const ConnectionKey& key, const Hop& hop, bool credit);
  void take_nic_path(const ConnectionKey& key, const Hop& hop, bool credit, Path& path);
  void take_peer_path(const ConnectionKey& key, const Hop& hop, bool credit, Path& path);
  void take_copies(int node, const Hop& hop, Path& path);
  void add_queue_pairs(Path& path, int count);

  const Fabric& fabric_;
  const Cluster& cluster_;
  const Node& node_;
  const Placement& placement_;
  const Membership& members_;
  WiringSettings settings_;
  bool free_control_;  // the ideal network: credits and acknowledgements cost nothing
  RingPlaces places_;
  SharedFlows shared_;
  std::vector<Draft> drafts_;
  Wiring wiring_;
};

FlowId WiringBuilder::add_flow(Route route, TrafficClass traffic_class, FlowKind kind, bool data,
                               const Order& order, FlowId answers) {
  Draft& draft = drafts_.emplace_back();
  draft.order = order;
  FlowSpec& spec = draft.spec;
  spec.answers = answers;
  spec.route = std::move(route);
  spec.traffic_class = traffic_class;
  spec.kind = static_cast<std::uint8_t>(kind);
  spec.data = data;
  // Both make room for the next packet when one begins to leave.
  spec.notify_start =
      kind == FlowKind::kWire || kind == FlowKind::kPeer || kind == FlowKind::kCopyOut;
  spec.endpoint_keeps_buffer = kind == FlowKind::kWire;
  return static_cast<FlowId>(drafts_.size() - 1);
}

FlowId WiringBuilder::add_flow_of(const ConnectionKey& key, bool credit, Route route, FlowKind kind,
                                  bool data, int queue_pair) {
  const auto [source, destination, channel, apart] = shape(key);
  const auto role = static_cast<std::int32_t>(kind) + (credit ? std::int32_t{kFlowKinds} : 0);
  // Notifications have a priority of their own, which nothing pauses.
  const TrafficClass traffic_class =
      kind == FlowKind::kNotify ? TrafficClass::kNonPosted : TrafficClass::kPosted;
  return add_flow(
      std::move(route), traffic_class, kind, data,
      {1, source, destination, role, channel, apart, key.source, key.stream, queue_pair});
}

// Of the payload on both PCIe sides, and of what is staged there.
void WiringBuilder::add_dma(const Hop& hop, int reading, Path& path) {
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  const int destination = gpu_of(hop.destination);
  const auto set = [&](FlowKind kind, FlowId flow) {
    path.flows[static_cast<std::size_t>(kind)] = flow;
  };
  path.staged_out = hop.staged_out;
  path.staged_in = hop.staged_in;
  const DmaFlows& source = hop.staged_out ? shared_.staged_dma(from, hop.source_nic, reading)
                                          : shared_.dma(from, hop.source_nic, reading);
  set(FlowKind::kReadRequest, source.request);
  set(FlowKind::kCompletion, source.completion);
  const DmaFlows& there = hop.staged_in ? shared_.staged_dma(to, hop.destination_nic, destination)
                                        : shared_.dma(to, hop.destination_nic, destination);
  set(FlowKind::kWrite, there.write);
  if (hop.staged_out) {
    const CopyFlows& copies = shared_.copies(from, reading, fabric_.host_socket(from, reading));
    set(FlowKind::kCopyOut, copies.out);
    set(FlowKind::kSendCopy, copies.send);
  }
  if (!hop.staged_in) return;
  const CopyFlows& copies = shared_.copies(to, destination, fabric_.host_socket(to, destination));
  set(FlowKind::kCopyRequest, copies.request);
  set(FlowKind::kCopyIn, copies.in);
  set(FlowKind::kReceiveCopy, copies.receive);
}

void WiringBuilder::add_queue_pairs(Path& path, int count) {
  path.first_queue_pair = static_cast<std::int32_t>(wiring_.queue_pairs.size());
  path.queue_pairs = count;
  wiring_.queue_pairs.insert(wiring_.queue_pairs.end(), static_cast<std::size_t>(count),
                             path.injector);
}

void WiringBuilder::take_nic_path(const ConnectionKey& key, const Hop& hop, bool credit,
                                  Path& path) {
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  path.kind = PathKind::kNic;
  path.injector = nic_injector(node_, from, hop.source_nic);
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : gpu_of(hop.source);
  path.source_gpu = from * node_.gpu_count + reading;
  path.destination_gpu = to * node_.gpu_count + gpu_of(hop.destination);
  path.destination_nic = hop.destination_nic;
  path.sending_core = fabric_.thread_resource(from, reading);
  path.receiving_core = fabric_.thread_resource(to, gpu_of(hop.destination));
  path.timeout = settings_.timeout;
  path.retry = settings_.retry;
  path.blue_flame = settings_.blue_flame;
  take_receives(settings_, cluster_.faults, to, credit, path);
  // Of several queue pairs, the first one's.
  const Route wire = fabric_.wire(from, hop.source_nic, to, hop.destination_nic,
                                  udp_source_port(settings_.seed, key, credit, 0, false));
  if (wire.empty()) {
    throw SimulationError("no path leads from node" + std::to_string(from) + ".nic" +
                          std::to_string(hop.source_nic) + " to node" + std::to_string(to) +
                          ".nic" + std::to_string(hop.destination_nic) +
                          ": rails without spines do not meet");
  }
  path.sender = fabric_.link(wire.front().link).resource;
  path.receiver = fabric_.link(wire.back().link).resource;
  path.source_detour = fabric_.thread_detour(from, reading);
  path.destination_detour = fabric_.thread_detour(to, gpu_of(hop.destination));
  if (path.source_detour.ps > 0) path.source_socket_link = fabric_.socket_link_resource(from);
  if (path.destination_detour.ps > 0) {
    path.destination_socket_link = fabric_.socket_link_resource(to);
  }
  add_queue_pairs(path, credit ? 1 : settings_.queue_pairs);
  path.splits = settings_.splits && !credit;
  add_wires(key, hop, credit, path);
  if (credit) return;
  add_dma(hop, reading, path);
  if (!hop.staged_in && flushes(settings_.flush, settings_.protocol, node_.gpu)) {
    path.flush = flush_time(fabric_, to, hop.destination_nic, gpu_of(hop.destination));
  }
  if (hop.relay_gpu < 0) return;
  path.flows[static_cast<std::size_t>(FlowKind::kRelay)] = add_flow_of(
      key, credit, fabric_.peer(from, gpu_of(hop.source), hop.relay_gpu), FlowKind::kRelay, false);
}

void WiringBuilder::add_wires(const ConnectionKey& key, const Hop& hop, bool credit, Path& path) {
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  if (cluster_.network.routing == Routing::kEcmp) path.ways = path.queue_pairs;
  const auto add = [&](FlowKind kind, std::vector<Route> ways, bool data, int pair) {
    Route first = std::move(ways.front());
    ways.erase(ways.begin());
    const FlowId flow = add_flow_of(key, credit, std::move(first), kind, data, pair);
    FlowSpec& spec = drafts_[static_cast<std::size_t>(flow)].spec;
    spec.others = std::move(ways);
    spec.spines = std::max(1, cluster_.network.topology.spines);
    path.flows[static_cast<std::size_t>(kind)] = flow;
  };
  // Flows of later queue pairs follow in their numbers, since nothing else tells them apart.
  for (int pair = path.ways - 1; pair >= 0; --pair) {
    const auto port = [&](bool answers) {
      return udp_source_port(settings_.seed, key, credit, pair, answers);
    };
    add(FlowKind::kWire, fabric_.ways(from, hop.source_nic, to, hop.destination_nic, port(false)),
        !credit, pair);
    if (free_control_) continue;
    const std::vector<Route> back =
        fabric_.ways(to, hop.destination_nic, from, hop.source_nic, port(true));
    if (cluster_.network.congestion.dcqcn) add(FlowKind::kNotify, back, false, pair);
    add(FlowKind::kAcknowledge, back, false, pair);
  }
}

void WiringBuilder::take_peer_path(const ConnectionKey& key, const Hop& hop, bool credit,
                                   Path& path) {
  path.kind = PathKind::kPeer;
  const int node = node_of(hop.source);
  path.source_gpu = node * node_.gpu_count + gpu_of(hop.source);
  path.destination_gpu = node * node_.gpu_count + gpu_of(hop.destination);
  const Route route = fabric_.peer(node, gpu_of(hop.source), gpu_of(hop.destination));
  GRADHAUL_ASSERT(!route.empty() || node_.pcie.empty() || credit || hop.staged_out,
                  "peers that do not reach each other are staged");
  for (const RouteHop& step : route) path.peer_latency += fabric_.link(step.link).latency;
  // Else kernels leave each other flags in host memory.
  if (route.empty() && !node_.pcie.empty()) path.peer_latency = node_.gpu.flag_latency * 2;
  if (credit) return;
  if (hop.staged_out) return take_copies(node, hop, path);
  path.flows[static_cast<std::size_t>(FlowKind::kPeer)] =
      add_flow_of(key, credit, route, FlowKind::kPeer, false);
  // Where nothing is in the way, nothing leaves by parts either.
  if (node_.nvlink || route.empty()) return;
  path.sender = fabric_.link(route.front().link).resource;
  path.injector = gpu_injector(cluster_, node, gpu_of(hop.source));
  add_queue_pairs(path, 1);
}

// The receiver copies from the memory of the sender's socket.
void WiringBuilder::take_copies(int node, const Hop& hop, Path& path) {
  path.staged_out = path.staged_in = true;
  const int socket = fabric_.host_socket(node, gpu_of(hop.source));
  path.flows[static_cast<std::size_t>(FlowKind::kCopyOut)] =
      shared_.copies(node, gpu_of(hop.source), socket).out;
  const CopyFlows& there = shared_.copies(node, gpu_of(hop.destination), socket);
  path.flows[static_cast<std::size_t>(FlowKind::kCopyRequest)] = there.request;
  path.flows[static_cast<std::size_t>(FlowKind::kCopyIn)] = there.in;
}

// Of a credit, `hop` is that of the data turned round.
Path WiringBuilder::path_between(const ConnectionKey& key, const Hop& hop, bool credit) {
  Path path;
  if (credit && (free_control_ || !settings_.credits)) return path;
  if (hop.source_nic >= 0) {
    take_nic_path(key, hop, credit, path);
  } else {
    take_peer_path(key, hop, credit, path);
  }
  return path;
}

void WiringBuilder::add_connection(const ConnectionKey& key) {
  const Hop hop = members_.hop(key.channel, key.source, key.destination);
  Hop back;
  back.source = hop.destination;
  back.destination = hop.source;
  back.source_nic = hop.destination_nic;
  back.destination_nic = hop.source_nic;
  WiredConnection added;
  added.sent_as = added.received_as = key;
  added.data = path_between(key, hop, false);
  added.credit = path_between(key, back, true);
  wiring_.connections.push_back(added);
}

Wiring WiringBuilder::finish() {
  std::vector<FlowId> sorted(drafts_.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(), [&](FlowId a, FlowId b) {
    return drafts_[static_cast<std::size_t>(a)].order < drafts_[static_cast<std::size_t>(b)].order;
  });
  std::vector<FlowId> number(drafts_.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    number[static_cast<std::size_t>(sorted[i])] = static_cast<FlowId>(i);
  }
  for (const FlowId draft : sorted) {
    FlowSpec& spec = drafts_[static_cast<std::size_t>(draft)].spec;
    if (spec.answers != kNone) spec.answers = number[static_cast<std::size_t>(spec.answers)];
    wiring_.flows.push_back(std::move(spec));
  }
  for (WiredConnection& connection : wiring_.connections) {
    for (Path* path : {&connection.data, &connection.credit}) {
      for (FlowId& flow : path->flows) {
        if (flow != kNone) flow = number[static_cast<std::size_t>(flow)];
      }
    }
  }
  return std::move(wiring_);
}

// Those of each GPU in the order of its connections; both directions of one share them.
void number_sockets(const TcpSettings& tcp, Wiring& wiring) {
  std::map<std::int32_t, std::int32_t> sockets;  // so far, by GPU
  for (WiredConnection& connection : wiring.connections) {
    Path& data = connection.data;
    Path& credit = connection.credit;
    if (data.kind != PathKind::kNic) continue;
    data.first_sending_socket = credit.first_receiving_socket = sockets[data.source_gpu];
    data.first_receiving_socket = credit.first_sending_socket = sockets[data.destination_gpu];
    sockets[data.source_gpu] += tcp.sockets;
    sockets[data.destination_gpu] += tcp.sockets;
  }
}

}  // namespace

Wiring wire_up(const Fabric& fabric, const Placement& placement, const Communication& communication,
               std::uint64_t seed, std::vector<ConnectionKey> keys) {
  const WholeCluster members(placement, fabric.cluster());
  return wire_up(fabric, placement, members, settings_of(communication, seed), std::move(keys));
}

Wiring wire_up(const Fabric& fabric, const Placement& placement, const Membership& members,
               const WiringSettings& settings, std::vector<ConnectionKey> keys) {
  WiringBuilder builder(fabric, placement, members, settings);
  std::sort(keys.begin(), keys.end(), [&](const ConnectionKey& a, const ConnectionKey& b) {
    return std::pair(builder.shape(a), a) < std::pair(builder.shape(b), b);
  });
  for (const ConnectionKey& key : keys) builder.add_connection(key);
  Wiring wiring = builder.finish();
  if (fabric.cluster().network.tcp) number_sockets(*fabric.cluster().network.tcp, wiring);
  // Of connections between the same places, first the data, then the credits.
  for (std::size_t first = 0, next = 0; first < keys.size(); first = next) {
    while (next < keys.size() && builder.same_places(keys[next], keys[first])) ++next;
    for (std::size_t i = first; i < next; ++i) {
      wiring.connections[i].data.place = static_cast<std::int32_t>(first + i);
      wiring.connections[i].credit.place = static_cast<std::int32_t>(next + i);
    }
  }
  return wiring;
}

void append(Wiring& all, Wiring more) {
  const auto flows = static_cast<FlowId>(all.flows.size());
  const auto queue_pairs = static_cast<std::int32_t>(all.queue_pairs.size());
  const auto places = static_cast<std::int32_t>(2 * all.connections.size());
  for (FlowSpec& spec : more.flows) {
    if (spec.answers != kNone) spec.answers += flows;
    all.flows.push_back(std::move(spec));
  }
  for (WiredConnection& connection : more.connections) {
    for (Path* path : {&connection.data, &connection.credit}) {
      path->place += places;
      if (path->first_queue_pair != kNone) path->first_queue_pair += queue_pairs;
      for (FlowId& flow : path->flows) {
        if (flow != kNone) flow += flows;
      }
    }
    all.connections.push_back(connection);
  }
  all.queue_pairs.insert(all.queue_pairs.end(), more.queue_pairs.begin(), more.queue_pairs.end());
}

std::vector<const Path*> in_place_order(const Wiring& wiring) {
  std::vector<const Path*> paths(2 * wiring.connections.size());
  for (const WiredConnection& connection : wiring.connections) {
    for (const Path* path : {&connection.data, &connection.credit}) {
      paths[static_cast<std::size_t>(path->place)] = path;
    }
  }
  return paths;
}

}  // namespace gradhaul
