// What is set up before a run: injectors and connections; and the posts that start messages.

#include "sim/packet_transport.h"

#include <limits>
#include <map>

#include "core/protocol.h"

namespace gradhaul {
namespace {

// Messages count their bytes in 32 bits.
constexpr Bytes kMaxWrite{std::numeric_limits<std::int32_t>::max()};

}  // namespace

class PacketTransport::RankTransport final : public Transport {
 public:
  RankTransport(PacketTransport& all, Rank rank) : all_(all), rank_(rank) {}
  TransportLimits limits() const override {
    TransportLimits limits;
    const ProtocolLine line = line_of(all_.communication_.protocol);
    limits.max_write = {kMaxWrite.count / line.whole * line.data};
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
                                 const Communication& communication)
    : context_(context),
      memory_(memory),
      communication_(communication),
      node_(context.fabric.cluster().node),
      free_control_(context.fabric.cluster().network.kind == NetworkKind::kIdeal) {
  for (Rank rank = 0; rank < context.fabric.cluster().ranks(); ++rank) {
    ranks_.push_back(std::make_unique<RankTransport>(*this, rank));
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
  if (node_.nvlink) return;
  for (int i = 0; i < cluster.nodes * node_.gpu_count; ++i) {
    Injector injector;
    injector.packet_payload = kPeerTrain;
    injector.buffer = kPeerBuffer;
    injectors_.push_back(injector);
  }
}

void PacketTransport::connect(const Wiring& wiring,
                              const std::vector<const std::vector<ConnectionEnd>*>& ends) {
  for (const FlowSpec& flow : wiring.flows) context_.engine.add_flow(flow);
  for (const std::int32_t injector : wiring.queue_pairs) {
    queue_pairs_.push_back({.injector = injector});
  }
  const Network& network = context_.fabric.cluster().network;
  if (network.congestion.dcqcn) {
    reactions_.assign(queue_pairs_.size(),
                      ReactionPoint(network.congestion, std::min(network.link, node_.nic.rate)));
  }
  std::map<ConnectionKey, std::int32_t> sent;
  std::map<ConnectionKey, std::int32_t> received;
  for (const WiredConnection& wired : wiring.connections) {
    const auto number = static_cast<std::int32_t>(connections_.size());
    sent[wired.sent_as] = received[wired.received_as] = number;
    connections_.emplace_back(wired, 2 * communication_.slots);
    for (const Path* path : {&wired.data, &wired.credit}) {
      if (path->injector == kNone) continue;
      injectors_[static_cast<std::size_t>(path->injector)].out =
          context_.engine.first_link(path->flow(out_kind(*path)));
    }
  }
  local_to_connection_.resize(ends.size());
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    if (ends[rank] == nullptr) continue;
    for (std::size_t i = 0; i < ends[rank]->size(); ++i) {
      const ConnectionEnd& end = (*ends[rank])[i];
      const std::int32_t number = (end.sends ? sent : received).at(end.key);
      SimulatedConnection& connection = connections_[static_cast<std::size_t>(number)];
      (end.sends ? connection.at_source : connection.at_destination) = static_cast<ConnectionId>(i);
      local_to_connection_[rank].push_back(number);
    }
  }
}

void PacketTransport::send(const Path& path, FlowKind kind, const Packet& packet,
                           std::int64_t ready, int queue_pair) {
  if (packet.trace != kNone) context_.engine.trace(packet.trace).shift = path.shift(kind);
  context_.engine.send(path.flow(kind, queue_pair), packet, ready);
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
      added.credit
          ? request.slots_returned
          : static_cast<std::int32_t>(with_flags(communication_.protocol, request.length).count);
  added.data = static_cast<std::int32_t>(request.length.count);
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
    if (polls_data(communication_.protocol)) write_out(index, now);
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
                           path_of(message(index)).place);
}

}  // namespace gradhaul
