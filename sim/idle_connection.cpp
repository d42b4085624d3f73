#include "sim/idle_connection.h"

#include <algorithm>

#include "core/infiniband_framing.h"
#include "core/protocol.h"
#include "sim/existing_path.h"
#include "sim/injector.h"

namespace gradhaul {
namespace {

std::int64_t whole(std::int64_t payload, std::int64_t piece) {
  return (payload + piece - 1) / piece;
}

}  // namespace

IdleConnection::IdleConnection(const Fabric& fabric, int ranks_per_node, const Hop& hop,
                               Protocol protocol)
    : node_(fabric.cluster().node),
      hop_(hop),
      protocol_(protocol),
      free_control_(fabric.cluster().network.kind == NetworkKind::kIdeal) {
  const auto node_of = [&](Rank rank) { return rank / ranks_per_node; };
  const auto gpu_of = [&](Rank rank) { return rank % ranks_per_node; };
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  const auto route = [&](const Route& links, TrafficClass traffic_class = TrafficClass::kPosted) {
    return IdleRoute(fabric, links, traffic_class);
  };
  if (!by_nic()) {
    peer_ = route(existing_peer(fabric, from, gpu_of(hop.source), gpu_of(hop.destination)));
    packet_payload_ = kPeerTrain;
    buffer_ = kPeerBuffer;
    return;
  }
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : gpu_of(hop.source);
  if (hop.relay_gpu >= 0) relay_ = route(fabric.peer(from, gpu_of(hop.source), reading));
  check_dma(fabric, from, hop.source_nic, reading);
  check_dma(fabric, to, hop.destination_nic, gpu_of(hop.destination));
  request_ = route(fabric.dma_request(from, hop.source_nic, reading), TrafficClass::kNonPosted);
  completion_ =
      route(fabric.dma_completion(from, hop.source_nic, reading), TrafficClass::kCompletion);
  wire_ = route(existing_wire(fabric, from, hop.source_nic, to, hop.destination_nic));
  wire_.keep_last_buffer();
  write_ = route(fabric.dma_write(to, hop.destination_nic, gpu_of(hop.destination)));
  back_ = route(existing_wire(fabric, to, hop.destination_nic, from, hop.source_nic));
  packet_payload_ = fabric.cluster().network.mtu.count;
  buffer_ = node_.nic.transmit_buffer.count > 0 ? node_.nic.transmit_buffer.count
                                                : kUnboundedBufferPackets * packet_payload_;
}

// From when data can be read until the receiver's kernel knows of it.
Duration IdleConnection::until_told() const {
  return polls_data(protocol_) ? Duration{} : node_.nic.completion + node_.gpu.flag_latency;
}

std::int64_t IdleConnection::after_post(std::int64_t from) const {
  const NicModel& nic = node_.nic;
  return from + (node_.gpu.flag_latency + nic.post + nic.doorbell + nic.wqe_fetch).ps;
}

std::int64_t IdleConnection::send(Bytes size) {
  if (!by_nic()) return send_to_peer(size.count);
  const bool relayed = hop_.relay_gpu >= 0;
  return send_by_nic(size.count, after_post(relayed ? relay_.pass({size.count}, 0).delivered : 0));
}

std::int64_t IdleConnection::send_to_peer(std::int64_t size) {
  const bool pcie = !node_.nvlink && !peer_.empty();
  std::int64_t arrived = 0;
  if (!pcie) {
    arrived = peer_.pass({size}, 0).delivered;
  } else {
    for (std::int64_t sent = 0; sent < size; sent += packet_payload_) {
      const std::int64_t payload = std::min(packet_payload_, size - sent);
      asked_ = ask_time(payload, 0, asked_);
      const IdleRoute::Passage passage = peer_.pass({payload}, asked_);
      leaving_.push_back({passage.first_start, payload});
      arrived = passage.delivered + node_.gpu.write_latency.ps;
    }
  }
  return done_ = arrived;
}

// The earliest time from `now` on when transmit buffer and tags allow to ask for so much.
std::int64_t IdleConnection::ask_time(std::int64_t payload, std::int64_t requests,
                                      std::int64_t now) {
  const auto come_free = [&now](std::deque<Held>& held, std::int64_t& used) {
    while (!held.empty() && held.front().until <= now) {
      used -= held.front().amount;
      held.pop_front();
    }
  };
  while (true) {
    come_free(leaving_, buffered_);
    come_free(tag_returns_, tags_used_);
    if (buffered_ > 0 && buffered_ + payload > buffer_ && !leaving_.empty()) {
      now = leaving_.front().until;
    } else if (requests > 0 && node_.pcie_settings.tags - tags_used_ < requests &&
               !tag_returns_.empty()) {
      now = tag_returns_.front().until;
    } else {
      break;
    }
  }
  buffered_ += payload;
  tags_used_ += requests;
  return now;
}

// Reads a packet's payload into the NIC; when it is there.
std::int64_t IdleConnection::fetch(std::int64_t payload) {
  const PcieSettings& pcie = node_.pcie_settings;
  std::int64_t there = 0;
  for (std::int64_t got = 0; got < payload;) {
    std::int64_t part = payload - got;
    std::int64_t requests = whole(part, pcie.max_read_request.count);
    // A packet may need more requests than there are tags at all: then it is fetched in parts.
    if (pcie.tags > 0 && requests > pcie.tags) {
      requests = pcie.tags;
      part = requests * pcie.max_read_request.count;
    }
    asked_ = ask_time(part, pcie.tags > 0 ? requests : 0, asked_);
    const std::int64_t at_gpu = request_.pass({0, requests}, asked_).delivered;
    const Duration reading = completion_.empty() ? Duration{} : node_.gpu.read_latency;
    there = completion_.pass({part}, at_gpu + reading.ps).delivered;
    if (pcie.tags > 0) tag_returns_.push_back({there, requests});
    got += part;
  }
  return there;
}

std::int64_t IdleConnection::send_by_nic(std::int64_t size, std::int64_t ready) {
  const NicModel& nic = node_.nic;
  asked_ = std::max({asked_, ready, next_message_});
  if (nic.message_rate > 0) next_message_ = asked_ + 1'000'000'000'000 / nic.message_rate;
  std::int64_t arrived = 0;
  for (std::int64_t sent = 0; sent < size; sent += packet_payload_) {
    IdleRoute::Train packet{std::min(packet_payload_, size - sent)};
    const std::int64_t there = fetch(packet.payload);
    const bool last = sent + packet.payload == size;
    if (!free_control_ && sent == 0) packet.extra += kRethBytes.count;
    if (!free_control_ && last) packet.extra += kImmediateBytes.count;
    arrived = receive(packet, there + nic.transmit_latency.ps, last);
  }
  return arrived;
}

// From the sender's wire to the receiver's kernel.
std::int64_t IdleConnection::receive(const IdleRoute::Train& packet, std::int64_t ready,
                                     bool last) {
  const NicModel& nic = node_.nic;
  const IdleRoute::Passage crossing = wire_.pass(packet, ready);
  leaving_.push_back({crossing.first_start, packet.payload});
  const std::int64_t received = crossing.delivered + nic.receive_latency.ps;
  if (last && free_control_) done_ = received;
  if (last && !free_control_) {
    done_ = back_.pass({0, 1, kAethBytes.count}, received).delivered +
            (nic.receive_latency + nic.completion).ps;
  }
  const IdleRoute::Passage writing = write_.pass({packet.payload}, received);
  wire_.release_last(write_.empty() ? received : writing.first_end);
  const Duration visible = write_.empty() ? Duration{} : node_.gpu.write_latency;
  return writing.delivered + (visible + until_told()).ps;
}

std::int64_t IdleConnection::credit() {
  if (!by_nic()) {
    const bool pcie = !node_.nvlink;
    return (peer_.latency() + (pcie ? node_.gpu.write_latency : Duration{})).ps;
  }
  if (free_control_) return 0;
  const NicModel& nic = node_.nic;
  const IdleRoute::Train packet{0, 1, (kRethBytes + kImmediateBytes).count};
  return wire_.pass(packet, after_post(0) + nic.transmit_latency.ps).delivered +
         (nic.receive_latency + nic.completion).ps;
}

Trace IdleConnection::parts(std::int64_t arrived) const {
  Trace trace;
  const auto add_links = [&](const IdleRoute& route) {
    route.visit_latencies([&](ResourceId resource, Duration latency) {
      trace.add(resource, Cause::kLatency, latency.ps);
    });
  };
  for (const IdleRoute* route : {&peer_, &relay_, &request_, &completion_, &wire_, &write_}) {
    add_links(*route);
  }
  const NicModel& nic = node_.nic;
  if (by_nic()) {
    const int flags = polls_data(protocol_) ? 1 : 2;
    trace.add(kNoResource, Cause::kFlag, flags * node_.gpu.flag_latency.ps);
    trace.add(kNoResource, Cause::kDoorbell, (nic.post + nic.doorbell + nic.wqe_fetch).ps);
    if (!polls_data(protocol_)) trace.add(kNoResource, Cause::kCompletion, nic.completion.ps);
    trace.add(wire_.first()->resource, Cause::kLatency, nic.transmit_latency.ps);
    trace.add(wire_.last()->resource, Cause::kLatency, nic.receive_latency.ps);
    if (!completion_.empty()) trace.add(kNoResource, Cause::kLatency, node_.gpu.read_latency.ps);
    if (!write_.empty()) trace.add(kNoResource, Cause::kLatency, node_.gpu.write_latency.ps);
  } else if (!node_.nvlink && !peer_.empty()) {
    trace.add(kNoResource, Cause::kLatency, node_.gpu.write_latency.ps);
  }
  const IdleRoute* narrow = &peer_;
  for (const IdleRoute* route : {&relay_, &completion_, &wire_, &write_}) {
    if (route->busiest_time() > narrow->busiest_time()) narrow = route;
  }
  const Link* link = narrow->busiest();
  trace.add(link == nullptr ? kNoResource : link->resource, Cause::kBusy, arrived - trace.total());
  return trace;
}

}  // namespace gradhaul
