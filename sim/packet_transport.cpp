// What is set up before a run: injectors, flows and ports; and the posts that start messages.

#include "sim/packet_transport.h"

#include <limits>
#include <utility>

#include "core/protocol.h"
#include "sim/port_observation.h"
#include "sim/run_observation.h"

namespace gradhaul {
namespace {

// Messages count their bytes in 32 bits.
constexpr Bytes kMaxWrite{std::numeric_limits<std::int32_t>::max()};

}  // namespace

class PacketTransport::RankTransport final : public Transport {
 public:
  RankTransport(PacketTransport& all, Rank rank) : all_(all), rank_(rank) {}
  void open(std::vector<std::int32_t> connections, int slots, Protocol protocol) {
    connections_ = std::move(connections);
    slots_ = slots;
    protocol_ = protocol;
  }
  std::int32_t connection(ConnectionId id) const {
    return connections_[static_cast<std::size_t>(id)];
  }
  TransportLimits limits() const override {
    TransportLimits limits;
    const ProtocolLine line = line_of(protocol_);
    limits.max_write = {kMaxWrite.count / line.whole * line.data};
    limits.max_writes_in_flight = 2 * slots_;
    return limits;
  }
  void post_write(const WriteRequest& request) override { all_.post(rank_, request); }
  void flush() override {}

 private:
  PacketTransport& all_;
  Rank rank_;
  std::vector<std::int32_t> connections_;  // by ConnectionId
  int slots_ = 0;
  Protocol protocol_ = Protocol::kSimple;
};

PacketTransport::PacketTransport(RunContext& context, MemoryPorts& memory)
    : context_(context),
      memory_(memory),
      node_(context.fabric.cluster().node),
      free_control_(context.fabric.cluster().network.kind == NetworkKind::kIdeal) {
  const Network& network = context.fabric.cluster().network;
  if (network.tcp) {
    cores_.emplace(*network.tcp, network.mtu, context.fabric.cluster().nodes * node_.gpu_count);
  }
  add_injectors();
}

PacketTransport::~PacketTransport() = default;

Transport& PacketTransport::of(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

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
  copy_engines_.resize(static_cast<std::size_t>(2 * cluster.nodes * node_.gpu_count));
  if (node_.nvlink) return;
  for (int i = 0; i < cluster.nodes * node_.gpu_count; ++i) {
    Injector injector;
    injector.packet_payload = kPeerTrain;
    injector.buffer = kPeerBuffer;
    injectors_.push_back(injector);
  }
}

void PacketTransport::add_flows(const Wiring& wiring) {
  for (const FlowSpec& flow : wiring.flows) context_.engine.add_flow(flow);
  for (const std::int32_t injector : wiring.queue_pairs) {
    queue_pairs_.push_back({.injector = injector});
  }
  for (const WiredConnection& wired : wiring.connections) {
    for (const Path* path : {&wired.data, &wired.credit}) {
      if (path->injector == kNone) continue;
      bond(*path);
      if (node_.bonded_nics && path->kind == PathKind::kNic) continue;
      injectors_[static_cast<std::size_t>(path->injector)].out =
          context_.engine.first_link(path->flow(out_kind(*path)));
    }
  }
  if (cores_) {
    tcp_.resize(queue_pairs_.size());
    for (TcpSockets& connection : tcp_) {
      connection.sending.resize(static_cast<std::size_t>(cores_->settings().sockets));
    }
  }
  add_recoveries(wiring);
  if (contexts_.empty() && may_miss_contexts(wiring, context_.fabric.cluster())) {
    const auto nics = static_cast<std::size_t>(context_.fabric.cluster().nodes * node_.nic_count);
    contexts_.assign(nics, NicContexts(node_.nic));
  }
  const CongestionControl& congestion = context_.fabric.cluster().network.congestion;
  while (congestion.dcqcn && reactions_.size() < queue_pairs_.size()) {
    const std::int32_t injector = queue_pairs_[reactions_.size()].injector;
    const LinkId out = injectors_[static_cast<std::size_t>(injector)].out;
    reactions_.emplace_back(congestion, context_.fabric.link(out).rate);
  }
}

Rank PacketTransport::open(std::span<const WiredConnection> wired, const PortEnds& ends, int slots,
                           Protocol protocol, const ThreadCosts& costs) {
  const auto ports = static_cast<std::int32_t>(ends.size());
  const Rank first = take_ports(ports);
  if (costs.any() || !threads_.empty()) {
    threads_.resize(ranks_.size());
    std::fill_n(threads_.begin() + first, ports, CommunicationThread(costs));
  }
  OpenPorts opened{ports, {}};
  std::map<ConnectionKey, std::int32_t> sent;
  std::map<ConnectionKey, std::int32_t> received;
  for (const WiredConnection& wires : wired) {
    const std::int32_t number = take_connection({wires, 2 * slots, protocol});
    connections_[static_cast<std::size_t>(number)].first_port = first;
    sent[wires.sent_as] = received[wires.received_as] = number;
    opened.connections.push_back(number);
  }
  for (std::size_t port = 0; port < ends.size(); ++port) {
    std::vector<std::int32_t> numbers;
    for (std::size_t i = 0; ends[port] != nullptr && i < ends[port]->size(); ++i) {
      const ConnectionEnd& end = (*ends[port])[i];
      numbers.push_back((end.sends ? sent : received).at(end.key));
      SimulatedConnection& connection = connections_[static_cast<std::size_t>(numbers.back())];
      (end.sends ? connection.at_source : connection.at_destination) = static_cast<ConnectionId>(i);
    }
    ranks_[static_cast<std::size_t>(first) + port]->open(std::move(numbers), slots, protocol);
  }
  open_.emplace(first, std::move(opened));
  return first;
}

Rank PacketTransport::take_ports(std::int32_t count) {
  std::vector<Rank>& closed = closed_ports_[count];
  if (!closed.empty()) {
    const Rank first = closed.back();
    closed.pop_back();
    return first;
  }
  const auto first = static_cast<Rank>(ranks_.size());
  for (std::int32_t i = 0; i < count; ++i) {
    ranks_.push_back(std::make_unique<RankTransport>(*this, first + i));
  }
  return first;
}

std::int32_t PacketTransport::take_connection(SimulatedConnection connection) {
  if (free_connections_.empty()) {
    connections_.push_back(std::move(connection));
    return static_cast<std::int32_t>(connections_.size() - 1);
  }
  const std::int32_t number = free_connections_.back();
  free_connections_.pop_back();
  connections_[static_cast<std::size_t>(number)] = std::move(connection);
  return number;
}

bool PacketTransport::idle(Rank first_port) const {
  const std::vector<std::int32_t>& numbers = open_.at(first_port).connections;
  return std::all_of(numbers.begin(), numbers.end(), [this](std::int32_t number) {
    return connections_[static_cast<std::size_t>(number)].outstanding == 0;
  });
}

void PacketTransport::close(Rank first_port) {
  GRADHAUL_ASSERT(idle(first_port), "nothing is on its way when ports are closed");
  const auto opened = open_.find(first_port);
  for (const std::int32_t number : opened->second.connections) free_connections_.push_back(number);
  closed_ports_[opened->second.ports].push_back(first_port);
  open_.erase(opened);
}

void PacketTransport::send(const Path& path, FlowKind kind, const Packet& packet,
                           std::int64_t ready, int queue_pair) {
  if (packet.trace != kNone) context_.engine.trace(packet.trace).shift = path.shift(kind);
  context_.engine.send(path.flow(kind, queue_pair), packet, ready);
}

std::int32_t PacketTransport::take_message() {
  if (free_messages_.empty()) {
    messages_.emplace_back();
    return static_cast<std::int32_t>(messages_.size() - 1);
  }
  const std::int32_t index = free_messages_.back();
  free_messages_.pop_back();
  message(index) = Message{};
  return index;
}

std::int32_t PacketTransport::add_message(std::int32_t connection, const WriteRequest& request) {
  const std::int32_t index = take_message();
  Message& added = message(index);
  added.connection = connection;
  ++connection_of(added).outstanding;
  added.credit = request.kind == WriteKind::kCredit;
  added.amount = added.credit
                     ? request.slots_returned
                     : static_cast<std::int32_t>(
                           with_flags(connection_of(added).protocol, request.length).count);
  added.data = static_cast<std::int32_t>(request.length.count);
  added.holders = 2;  // its arrival there and its end here
  added.chain = context_.cause->chain();
  context_.blame.hold(added.chain);
  added.posted = context_.engine.now();
  added.trace = context_.engine.add_trace();
  if (!threads_.empty()) plan_turns(added);
  return index;
}

void PacketTransport::post(Rank rank, const WriteRequest& request) {
  GRADHAUL_ASSERT(request.length <= kMaxWrite, "no write is longer than the limits say");
  const std::int32_t number =
      ranks_[static_cast<std::size_t>(rank)]->connection(request.connection);
  const std::int32_t index = add_message(number, request);
  Message& added = message(index);
  SimulatedConnection& connection = connection_of(added);
  const Path& path = path_of(added);
  const std::int64_t now = context_.engine.now();
  if (context_.ports != nullptr) {
    context_.ports->on_posted(index, connection.wires.sent_as, request);
  }
  if (added.credit) {
    ++connection.credits_in_flight;
    GRADHAUL_ASSERT(connection.credits_in_flight <= connection.most_in_flight,
                    "no more credits are in flight than the limits say");
  } else {
    connection.arriving.push(index);
    connection.finishing.push(index);
    connection.payload += added.amount;
    if (context_.observation != nullptr) {
      context_.observation->on_posted(rank, index, connection.wires.sent_as, request.length);
    }
    memory_.book(path.source_gpu, {added.amount}, now);
    if (polls_data(connection.protocol)) write_out(index, now);
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
  } else if (path.kind == PathKind::kPeer && path.staged_out) {
    stage_out(index, now);
  } else if (path.kind == PathKind::kPeer && path.injector != kNone) {
    // Of those that are posted in one instant, in the order of their places.
    event_for(index, RunEvent::kMessageReady, now);
  } else if (path.kind == PathKind::kPeer || path.flow(FlowKind::kRelay) != kNone) {
    Packet whole;
    whole.message = index;
    whole.payload = added.amount;
    whole.trace = added.trace;
    whole.last_of_message = true;
    send(path, path.kind == PathKind::kPeer ? FlowKind::kPeer : FlowKind::kRelay, whole, now);
  } else {
    add_post_cost(added, now, index);
  }
}

// The kernel has put lines together in a buffer of the protocol's own: what they were made of may
// be written over at once. The message goes on by itself.
void PacketTransport::write_out(std::int32_t index, std::int64_t now) {
  ++message(index).holders;
  event_for(index, RunEvent::kDataDone, now);
}

// From the kernel's flag to the NIC knowing the work request; what is staged is copied in between.
void PacketTransport::add_post_cost(Message& posted, std::int64_t from, std::int32_t index) {
  const Path& path = path_of(posted);
  if (!posted.credit && path.staged_out) return stage_out(index, from);
  post_to_nic(posted, add_flag(posted, path, from), index);
}

// When the sender's thread has seen the kernel's flag.
std::int64_t PacketTransport::add_flag(Message& posted, const Path& path, std::int64_t from) {
  Trace& parts = context_.engine.trace(posted.trace);
  parts.add(kNoResource, Cause::kFlag, node_.gpu.flag_latency.ps);
  parts.add(path.source_socket_link, Cause::kLatency, path.source_detour.ps);
  return from + (node_.gpu.flag_latency + path.source_detour).ps;
}

void PacketTransport::post_to_nic(Message& posted, std::int64_t from, std::int32_t index) {
  if (cores_) return event_for(index, RunEvent::kTcpSend, from);
  if (posted.post_turn) return event_for(index, RunEvent::kMessageReady, from);
  if (const int parts = parts_of(posted); parts > 1) return post_parts(index, parts, from);
  post_request(index, from);
}

void PacketTransport::post_request(std::int32_t index, std::int64_t from) {
  const Message& posted = message(index);
  const NicModel& nic = node_.nic;
  const Path& path = path_of(posted);
  const std::int64_t bytes = posted.credit ? 0 : posted.amount;
  const bool fetched = path.blue_flame.count == 0 || bytes > path.blue_flame.count;
  const Duration doorbell = nic.post + nic.doorbell + (fetched ? nic.wqe_fetch : Duration{});
  // The doorbell goes one way, and the work request is asked for and comes.
  const Duration detour = path.source_detour * (fetched ? kDetoursOfPost : 1);
  Trace& parts = context_.engine.trace(posted.trace);
  parts.add(kNoResource, Cause::kDoorbell, doorbell.ps);
  parts.add(path.source_socket_link, Cause::kLatency, detour.ps);
  std::int64_t known = from + (doorbell + detour).ps;
  if (!posted.credit && path.blue_flame.count > 0) known = in_order(posted, known);
  event_for(index, RunEvent::kMessageReady, known);
}

// Work requests of a queue pair are processed in their order [IBTA vol. 1, 10.8.3.3]: one that
// comes with its doorbell waits for those before it that are still fetched. Of several queue pairs
// all that the connection has are taken for one.
std::int64_t PacketTransport::in_order(const Message& posted, std::int64_t known) {
  SimulatedConnection& connection = connections_[static_cast<std::size_t>(posted.connection)];
  connection.known = std::max(connection.known, known);
  context_.engine.trace(posted.trace).add(kNoResource, Cause::kDoorbell, connection.known - known);
  return connection.known;
}

void PacketTransport::event_for(std::int32_t index, RunEvent event, std::int64_t time) {
  context_.engine.schedule(time, static_cast<std::uint32_t>(event), index,
                           path_of(message(index)).place);
}

}  // namespace gradhaul
