// Wiring: injectors, flows and paths of every connection; and the posts that start messages.

#include "sim/packet_transport.h"

#include <limits>
#include <map>
#include <tuple>

#include "core/prediction_request.h"

namespace gradhaul {
namespace {

// Messages count their bytes in 32 bits.
constexpr Bytes kMaxWrite{std::numeric_limits<std::int32_t>::max()};
constexpr char kNotAcross[] =
    ": their sockets pass no peer-to-peer, and staging through host memory is not available in "
    "this version";

}  // namespace

class PacketTransport::RankTransport final : public Transport {
 public:
  RankTransport(PacketTransport& all, Rank rank) : all_(all), rank_(rank) {}
  TransportLimits limits() const override {
    TransportLimits limits;
    limits.max_write = kMaxWrite;
    limits.max_writes_in_flight = 2 * all_.communication_.slots;
    return limits;
  }
  void post_write(const WriteRequest& request) override { all_.post(rank_, request); }
  void flush() override {}

 private:
  PacketTransport& all_;
  Rank rank_;
};

PacketTransport::PacketTransport(RunContext& context, MemoryPorts& memory,
                                 const Placement& placement, const Communication& communication)
    : context_(context),
      memory_(memory),
      placement_(placement),
      communication_(communication),
      node_(context.fabric.cluster().node),
      free_control_(context.fabric.cluster().network.kind == NetworkKind::kIdeal) {
  const Cluster& cluster = context.fabric.cluster();
  for (Rank rank = 0; rank < cluster.ranks(); ++rank) {
    ranks_.push_back(std::make_unique<RankTransport>(*this, rank));
  }
  dma_flows_.resize(static_cast<std::size_t>(cluster.nodes * node_.nic_count * node_.gpu_count));
  add_injectors();
}

PacketTransport::~PacketTransport() = default;

Transport& PacketTransport::of(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

int PacketTransport::gpu_index(int node, int gpu) const { return node * node_.gpu_count + gpu; }

void PacketTransport::add_injectors() {
  const Cluster& cluster = context_.fabric.cluster();
  const NicModel& nic = node_.nic;
  for (int i = 0; i < cluster.nodes * node_.nic_count; ++i) {
    Injector injector;
    injector.packet_payload = static_cast<std::int32_t>(cluster.network.mtu.count);
    injector.read_request = static_cast<std::int32_t>(node_.pcie_settings.max_read_request.count);
    injector.buffer = nic.transmit_buffer.count > 0
                          ? nic.transmit_buffer.count
                          : kUnboundedBufferPackets * injector.packet_payload;
    injector.tags = node_.pcie_settings.tags;
    injector.message_gap = nic.message_rate > 0 ? 1'000'000'000'000 / nic.message_rate : 0;
    injector.transmit_latency = nic.transmit_latency.ps;
    injectors_.push_back(injector);
  }
  if (node_.nvlink) return;
  for (int i = 0; i < cluster.nodes * node_.gpu_count; ++i) {
    Injector injector;
    injector.packet_payload = kPeerTrain;
    injector.buffer = kPeerBuffer;
    injectors_.push_back(injector);
  }
}

std::int32_t PacketTransport::add_queue_pairs(std::int32_t injector, int count) {
  const auto first = static_cast<std::int32_t>(queue_pairs_.size());
  for (int i = 0; i < count; ++i) queue_pairs_.push_back({injector, kNone, kNone});
  return first;
}

FlowId PacketTransport::add_flow(Route route, TrafficClass traffic_class, FlowKind kind, bool data,
                                 FlowId answers) {
  FlowSpec spec;
  spec.answers = answers;
  spec.route = std::move(route);
  spec.traffic_class = traffic_class;
  spec.kind = static_cast<std::uint8_t>(kind);
  spec.data = data;
  // Both make room for the next packet when one begins to leave.
  spec.notify_start = kind == FlowKind::kWire || kind == FlowKind::kPeer;
  spec.endpoint_keeps_buffer = kind == FlowKind::kWire;
  return context_.engine.add_flow(spec);
}

const PacketTransport::DmaFlows& PacketTransport::dma_flows(int node, int nic, int gpu) {
  DmaFlows& flows =
      dma_flows_[static_cast<std::size_t>((node * node_.nic_count + nic) * node_.gpu_count + gpu)];
  if (flows.request == kNone) {
    const Fabric& fabric = context_.fabric;
    const Route request = fabric.dma_request(node, nic, gpu);
    if (request.empty() && !node_.pcie.empty()) {
      const std::string name = "node" + std::to_string(node);
      throw SimulationError(name + ".nic" + std::to_string(nic) + " and " + name + ".gpu" +
                            std::to_string(gpu) + " do not reach each other" + kNotAcross);
    }
    flows.request = add_flow(request, TrafficClass::kNonPosted, FlowKind::kReadRequest, false);
    flows.completion = add_flow(fabric.dma_completion(node, nic, gpu), TrafficClass::kCompletion,
                                FlowKind::kCompletion, true, flows.request);
    flows.write =
        add_flow(fabric.dma_write(node, nic, gpu), TrafficClass::kPosted, FlowKind::kWrite, true);
  }
  return flows;
}

Path PacketTransport::nic_path(const Hop& hop, bool credit) {
  const Fabric& fabric = context_.fabric;
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  Path path;
  path.kind = PathKind::kNic;
  path.injector = from * node_.nic_count + hop.source_nic;
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : gpu_of(hop.source);
  path.source_gpu = gpu_index(from, reading);
  path.destination_gpu = gpu_index(to, gpu_of(hop.destination));
  const Route wire = fabric.wire(from, hop.source_nic, to, hop.destination_nic);
  if (wire.empty()) {
    throw SimulationError("no path leads from node" + std::to_string(from) + ".nic" +
                          std::to_string(hop.source_nic) + " to node" + std::to_string(to) +
                          ".nic" + std::to_string(hop.destination_nic) +
                          ": rails without spines do not meet");
  }
  path.receiver = fabric.link(wire.back().link).resource;
  path.out = add_flow(wire, TrafficClass::kPosted, FlowKind::kWire, !credit);
  if (!free_control_) {
    path.acknowledge = add_flow(fabric.wire(to, hop.destination_nic, from, hop.source_nic),
                                TrafficClass::kPosted, FlowKind::kAcknowledge, false);
  }
  Injector& injector = injectors_[static_cast<std::size_t>(path.injector)];
  injector.out = wire.front().link;
  injector.resource = fabric.link(wire.front().link).resource;
  if (credit) return path;
  const DmaFlows& source = dma_flows(from, hop.source_nic, reading);
  path.request = source.request;
  path.completion = source.completion;
  path.write = dma_flows(to, hop.destination_nic, gpu_of(hop.destination)).write;
  if (hop.relay_gpu >= 0) {
    path.relay = add_flow(fabric.peer(from, gpu_of(hop.source), hop.relay_gpu),
                          TrafficClass::kPosted, FlowKind::kRelay, false);
  }
  return path;
}

// Of a credit, `hop` is that of the data turned round.
Path PacketTransport::path_between(const Hop& hop, bool credit) {
  Path path;
  if (credit && free_control_) return path;
  if (hop.source_nic >= 0) {
    path = nic_path(hop, credit);
    path.first_queue_pair = add_queue_pairs(path.injector, credit ? 1 : communication_.queue_pairs);
    return path;
  }
  path.kind = PathKind::kPeer;
  const int node = node_of(hop.source);
  path.source_gpu = gpu_index(node, gpu_of(hop.source));
  path.destination_gpu = gpu_index(node, gpu_of(hop.destination));
  const Route route = context_.fabric.peer(node, gpu_of(hop.source), gpu_of(hop.destination));
  for (const RouteHop& step : route) path.peer_latency += context_.fabric.link(step.link).latency;
  if (credit) return path;
  if (route.empty() && !node_.pcie.empty()) {
    throw SimulationError("node" + std::to_string(node) + ": gpu" +
                          std::to_string(gpu_of(hop.source)) + " cannot reach gpu" +
                          std::to_string(gpu_of(hop.destination)) + kNotAcross);
  }
  path.out = add_flow(route, TrafficClass::kPosted, FlowKind::kPeer, false);
  // Where nothing is in the way, nothing leaves by parts either.
  if (!node_.nvlink && !route.empty()) {
    path.injector = context_.fabric.cluster().nodes * node_.nic_count + path.source_gpu;
    path.first_queue_pair = add_queue_pairs(path.injector, 1);
    Injector& injector = injectors_[static_cast<std::size_t>(path.injector)];
    injector.out = context_.engine.first_link(path.out);
    if (injector.out != kNoLink) injector.resource = context_.fabric.link(injector.out).resource;
  }
  return path;
}

void PacketTransport::add_connection(const ConnectionKey& key) {
  const Cluster& cluster = context_.fabric.cluster();
  SimulatedConnection& added = connections_.emplace_back(2 * communication_.slots);
  added.key = key;
  const Hop hop = hop_between(placement_, cluster, key.channel, key.source, key.destination);
  added.data = path_between(hop, false);
  Hop back;
  back.source = hop.destination;
  back.destination = hop.source;
  back.source_nic = hop.destination_nic;
  back.destination_nic = hop.source_nic;
  added.credit = path_between(back, true);
}

void PacketTransport::connect(const std::vector<const std::vector<ConnectionEnd>*>& ends) {
  // Numbered in the order of their keys: flows, and with them digests, do not depend on the ranks'
  // own numbering.
  std::map<ConnectionKey, std::int32_t> numbers;
  for (const auto* of_rank : ends) {
    for (const ConnectionEnd& end : *of_rank) numbers.try_emplace(end.key, 0);
  }
  for (auto& [key, number] : numbers) {
    number = static_cast<std::int32_t>(connections_.size());
    add_connection(key);
  }
  local_to_connection_.resize(ends.size());
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    for (std::size_t i = 0; i < ends[rank]->size(); ++i) {
      const ConnectionEnd& end = (*ends[rank])[i];
      const std::int32_t number = numbers.at(end.key);
      SimulatedConnection& connection = connections_[static_cast<std::size_t>(number)];
      (end.sends ? connection.at_source : connection.at_destination) = static_cast<ConnectionId>(i);
      local_to_connection_[rank].push_back(number);
    }
  }
}

std::int32_t PacketTransport::add_message(std::int32_t connection, const WriteRequest& request) {
  std::int32_t index = 0;
  if (free_messages_.empty()) {
    index = static_cast<std::int32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    index = free_messages_.back();
    free_messages_.pop_back();
  }
  Message& added = message(index);
  added = Message{};
  added.connection = connection;
  added.credit = request.kind == WriteKind::kCredit;
  added.amount =
      added.credit ? request.slots_returned : static_cast<std::int32_t>(request.length.count);
  added.holders = 2;  // its arrival there and its end here
  added.chain = context_.cause;
  context_.blame.hold(added.chain);
  added.posted = context_.engine.now();
  added.trace = context_.engine.add_trace();
  return index;
}

void PacketTransport::post(Rank rank, const WriteRequest& request) {
  GRADHAUL_ASSERT(request.length <= kMaxWrite, "no write is longer than the limits say");
  const std::int32_t number = local_to_connection_[static_cast<std::size_t>(rank)]
                                                  [static_cast<std::size_t>(request.connection)];
  const std::int32_t index = add_message(number, request);
  Message& added = message(index);
  SimulatedConnection& connection = connection_of(added);
  const Path& path = path_of(added);
  const std::int64_t now = context_.engine.now();
  if (added.credit) {
    ++connection.credits_in_flight;
    GRADHAUL_ASSERT(connection.credits_in_flight <= 2 * communication_.slots,
                    "no more credits are in flight than the limits say");
  } else {
    connection.arriving.push(index);
    connection.finishing.push(index);
    memory_.book(path.source_gpu, {added.amount}, now);
  }
  if (path.kind == PathKind::kInstant) {
    event_for(index, RunEvent::kCreditArrived, now);
    event_for(index, RunEvent::kCreditDone, now);
  } else if (path.kind == PathKind::kPeer && added.credit) {
    const Duration latency =
        path.peer_latency + (node_.nvlink ? Duration{} : node_.gpu.write_latency);
    context_.engine.trace(added.trace).add(kNoResource, Cause::kLatency, latency.ps);
    event_for(index, RunEvent::kCreditArrived, now + latency.ps);
    event_for(index, RunEvent::kCreditDone, now);
  } else if (path.kind == PathKind::kPeer && path.injector != kNone) {
    message_ready(index);
  } else if (path.kind == PathKind::kPeer || path.relay != kNone) {
    Packet whole;
    whole.message = index;
    whole.payload = added.amount;
    whole.trace = added.trace;
    whole.last_of_message = true;
    context_.engine.send(path.kind == PathKind::kPeer ? path.out : path.relay, whole, now);
  } else {
    add_post_cost(added, now, index);
  }
}

// From the kernel's flag to the NIC knowing the work request.
void PacketTransport::add_post_cost(Message& posted, std::int64_t from, std::int32_t index) {
  const NicModel& nic = node_.nic;
  const Duration doorbell = nic.post + nic.doorbell + nic.wqe_fetch;
  Trace& parts = context_.engine.trace(posted.trace);
  parts.add(kNoResource, Cause::kFlag, node_.gpu.flag_latency.ps);
  parts.add(kNoResource, Cause::kDoorbell, doorbell.ps);
  event_for(index, RunEvent::kMessageReady, from + node_.gpu.flag_latency.ps + doorbell.ps);
}

void PacketTransport::event_for(std::int32_t index, RunEvent event, std::int64_t time) {
  context_.engine.schedule(time, static_cast<std::uint32_t>(event), index,
                           message(index).connection);
}

}  // namespace gradhaul
