#include "sim/idle_connection.h"

#include <algorithm>

#include "core/arrival_flush.h"
#include "core/infiniband_framing.h"
#include "core/inline_write.h"
#include "core/protocol.h"
#include "sim/existing_path.h"
#include "sim/flush_time.h"
#include "sim/injector.h"
#include "sim/payload_routes.h"

namespace gradhaul {
namespace {

std::int64_t whole(std::int64_t payload, std::int64_t piece) {
  return (payload + piece - 1) / piece;
}

IdleRoute posted(const Fabric& fabric, const Route& links) {
  return {fabric, links, TrafficClass::kPosted};
}

}  // namespace

IdleConnection::IdleConnection(const Fabric& fabric, int ranks_per_node, const Hop& hop,
                               Protocol protocol, const PostingCosts& posting, WriteEnds ends)
    : node_(fabric.cluster().node),
      hop_(hop),
      protocol_(protocol),
      posting_(posting),
      ends_(ends),
      free_control_(fabric.cluster().network.kind == NetworkKind::kIdeal) {
  const auto node_of = [&](Rank rank) { return rank / ranks_per_node; };
  const auto gpu_of = [&](Rank rank) { return rank % ranks_per_node; };
  const int from = node_of(hop.source);
  const int to = node_of(hop.destination);
  const int source = gpu_of(hop.source);
  const int destination = gpu_of(hop.destination);
  if (!by_nic()) {
    make_copies(fabric, from, to, source, destination);
    if (!hop.staged_out) {
      peer_ = posted(fabric, existing_peer(fabric, from, source, destination));
    }
    packet_payload_ = kPeerTrain;
    buffer_ = kPeerBuffer;
    return;
  }
  const int reading = hop.relay_gpu >= 0 ? hop.relay_gpu : source;
  if (hop.relay_gpu >= 0) relay_ = posted(fabric, fabric.peer(from, source, reading));
  make_routes(fabric, from, to, reading, destination);
  make_copies(fabric, from, to, reading, destination);
  if (const auto& tcp = fabric.cluster().network.tcp) {
    const auto copy = [&](int node, int gpu) {
      return posted(fabric, fabric.host_copy(node, fabric.host_socket(node, gpu)));
    };
    tcp_.emplace(*tcp, fabric.cluster().network.mtu, copy(from, reading), copy(to, destination));
    receiving_core_ = fabric.thread_resource(to, destination);
  }
  if (!hop.staged_in && ends.kernels && flushes(posting.flush, protocol, node_.gpu)) {
    flush_ = flush_time(fabric, to, hop.destination_nic, destination);
  }
  source_detour_ = fabric.thread_detour(from, reading);
  destination_detour_ = fabric.thread_detour(to, destination);
  source_socket_link_ = fabric.socket_link_resource(from);
  destination_socket_link_ = fabric.socket_link_resource(to);
  packet_payload_ = fabric.cluster().network.mtu.count;
  buffer_ = node_.nic.transmit_buffer.count > 0 ? node_.nic.transmit_buffer.count
                                                : kUnboundedBufferPackets * packet_payload_;
}

void IdleConnection::make_routes(const Fabric& fabric, int from, int to, int reading,
                                 int destination) {
  const ReadRoutes reads = read_routes(fabric, from, hop_.source_nic, reading, hop_.staged_out);
  request_ = IdleRoute(fabric, reads.request, TrafficClass::kNonPosted);
  completion_ = IdleRoute(fabric, reads.completion, TrafficClass::kCompletion);
  reading_ = completion_.empty() ? Duration{} : reads.reading;
  wire_ = posted(fabric, existing_wire(fabric, from, hop_.source_nic, to, hop_.destination_nic));
  wire_.keep_last_buffer();
  write_ =
      posted(fabric, write_route(fabric, to, hop_.destination_nic, destination, hop_.staged_in));
  back_ = posted(fabric, existing_wire(fabric, to, hop_.destination_nic, from, hop_.source_nic));
}

void IdleConnection::make_copies(const Fabric& fabric, int from, int to, int reading,
                                 int destination) {
  if (!copies_out() && !copies_in()) return;
  const int out = fabric.host_socket(from, reading);
  if (copies_out()) out_ = IdleCopy(posted(fabric, copy_out_route(fabric, from, reading, out)));
  if (!copies_in()) return;
  // A peer's slice lies where its sender put it.
  const int in = by_nic() ? fabric.host_socket(to, destination) : out;
  const ReadRoutes reads = copy_in_routes(fabric, to, destination, in);
  in_ = IdleCopy(IdleRoute(fabric, reads.request, TrafficClass::kNonPosted),
                 IdleRoute(fabric, reads.completion, TrafficClass::kCompletion),
                 node_.pcie_settings.max_read_request, reads.reading);
}

bool IdleConnection::inlined(std::int64_t size) const {
  return ends_.host_memory && !free_control_ && size > 0 && size <= kInlineBytes.count;
}

bool IdleConnection::blue_flame(std::int64_t size) const {
  if (inlined(size)) return true;
  return posting_.blue_flame.count > 0 && size <= posting_.blue_flame.count;
}

Duration IdleConnection::until_fetched(std::int64_t size) const {
  const NicModel& nic = node_.nic;
  const Duration doorbell = nic.post + nic.doorbell;
  if (blue_flame(size)) return doorbell + source_detour_;
  return doorbell + nic.wqe_fetch + source_detour_ * kDetoursOfPost;
}

// The sender's thread has been told at `told`: when the NIC has the work request.
std::int64_t IdleConnection::post(std::int64_t size, std::int64_t told) {
  std::int64_t turn = told;
  if (posting_.thread_step.ps > 0) {
    turn = std::max(told, sender_free_) + posting_.thread_step.ps;
    sender_free_ = turn + node_.nic.post.ps;
  }
  return turn + until_fetched(size).ps;
}

// There is a completion from `from` on: when the receiver's thread has seen it.
std::int64_t IdleConnection::complete(std::int64_t from) {
  const std::int64_t seen = from + until_completed().ps;
  if (posting_.thread_step.ps == 0) return seen;
  return receiver_free_ = std::max(seen, receiver_free_) + posting_.thread_step.ps;
}

// The receiver's thread goes on at once to a read back, and takes its completion.
std::int64_t IdleConnection::flushed(std::int64_t seen) {
  if (flush_.ps == 0 || posting_.thread_step.ps == 0) return seen + flush_.ps;
  const std::int64_t posted = seen + posting_.thread_step.ps;
  receiver_free_ = posted + node_.nic.post.ps;
  const std::int64_t back = posted + flush_.ps;
  return receiver_free_ = std::max(back, receiver_free_) + posting_.thread_step.ps;
}

// Data can be read from `there` on: when the receiver's kernel knows of it, or its thread.
std::int64_t IdleConnection::told_at(std::int64_t there) {
  if (polls_data(protocol_)) return there;
  const std::int64_t seen = flushed(complete(there));
  return ends_.kernels ? seen + (node_.gpu.flag_latency + destination_detour_).ps : seen;
}

std::int64_t IdleConnection::send(Bytes size, std::int64_t posted) {
  if (!by_nic()) return hop_.staged_out ? send_through_host(size.count) : send_to_peer(size.count);
  const bool relayed = hop_.relay_gpu >= 0;
  std::int64_t told =
      (relayed ? relay_.pass({size.count}, posted).delivered : posted) + until_flag().ps;
  if (copies_out()) told = out_.pass(size.count, told + node_.gpu.copy_setup.ps);
  posted_ = size.count;
  if (tcp_) {
    const std::int64_t read = send_by_tcp(size.count, told);
    return copies_in() ? copy_in(size.count, read) : read;
  }
  const std::int64_t written = send_by_nic(size.count, post(size.count, told));
  if (!hop_.staged_in) return written;
  if (!copies_in()) return told_at(written);
  return copy_in(size.count, complete(written));
}

std::int64_t IdleConnection::send_through_host(std::int64_t size) {
  const std::int64_t out = out_.pass(size, (until_flag() + node_.gpu.copy_setup).ps);
  return done_ = copy_in(size, out);
}

// From when the receiver's thread knows of the slice until its kernel does.
std::int64_t IdleConnection::copy_in(std::int64_t size, std::int64_t from) {
  const std::int64_t there = in_.pass(size, from + node_.gpu.copy_setup.ps);
  const bool told_by_data = polls_data(protocol_) || !ends_.kernels;
  const Duration flag = told_by_data ? Duration{} : node_.gpu.flag_latency + destination_detour_;
  return there + (node_.gpu.write_latency + flag).ps;
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
    const std::int64_t asked = request_.pass({0, requests}, asked_).delivered;
    there = completion_.pass({part}, asked + reading_.ps).delivered;
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
    if (inlined(size)) asked_ = ask_time(size, 0, asked_);
    const std::int64_t there = inlined(size) ? asked_ : fetch(packet.payload);
    const bool last = sent + packet.payload == size;
    if (!free_control_ && sent == 0) packet.extra += kRethBytes.count;
    if (!free_control_ && last) packet.extra += kImmediateBytes.count;
    arrived = receive(packet, there + nic.transmit_latency.ps, last);
  }
  return arrived;
}

// From host memory to host memory: the NIC has what cores have copied, aggregate by aggregate.
std::int64_t IdleConnection::send_by_tcp(std::int64_t size, std::int64_t ready) {
  const NicModel& nic = node_.nic;
  const std::int64_t aggregate = tcp_->aggregate();
  std::int64_t read = 0;
  for (std::int64_t begun = 0; begun < size; begun += aggregate) {
    const std::int64_t bytes = std::min(aggregate, size - begun);
    const std::int64_t copied = tcp_->send(bytes, ready);
    done_ = std::max(done_, copied);
    asked_ = std::max({asked_, copied + (nic.doorbell + nic.wqe_fetch).ps,
                       begun == 0 ? next_message_ : std::int64_t{0}});
    if (begun == 0 && nic.message_rate > 0) {
      next_message_ = asked_ + 1'000'000'000'000 / nic.message_rate;
    }
    std::int64_t landed = 0;
    for (std::int64_t sent = 0; sent < bytes; sent += packet_payload_) {
      const IdleRoute::Train packet{std::min(packet_payload_, bytes - sent)};
      landed = receive(packet, fetch(packet.payload) + nic.transmit_latency.ps, false);
    }
    read = std::max(read, tcp_->receive(bytes, landed));
  }
  return read;
}

// From the sender's wire to the receiver's kernel, or into host memory.
std::int64_t IdleConnection::receive(const IdleRoute::Train& packet, std::int64_t ready,
                                     bool last) {
  const NicModel& nic = node_.nic;
  const IdleRoute::Passage crossing = wire_.pass(packet, ready);
  leaving_.push_back({crossing.first_start, packet.payload});
  const std::int64_t received = crossing.delivered + nic.receive_latency.ps;
  if (last && free_control_) done_ = received;
  if (last && !free_control_) {
    done_ = back_.pass({0, 1, kAethBytes.count}, received).delivered +
            (nic.receive_latency + nic.completion + source_detour_ + posting_.thread_step).ps;
  }
  const IdleRoute::Passage writing = write_.pass({packet.payload}, received);
  wire_.release_last(write_.empty() ? received : writing.first_end);
  if (hop_.staged_in) return writing.delivered;
  const Duration visible = write_.empty() ? Duration{} : node_.gpu.write_latency;
  const std::int64_t there = writing.delivered + visible.ps;
  return last ? told_at(there) : there;
}

std::int64_t IdleConnection::credit() {
  if (!by_nic()) {
    const bool pcie = !node_.nvlink;
    if (hop_.staged_out) return (node_.gpu.flag_latency * 2 + node_.gpu.write_latency).ps;
    return (peer_.latency() + (pcie ? node_.gpu.write_latency : Duration{})).ps;
  }
  if (free_control_) return 0;
  const NicModel& nic = node_.nic;
  if (tcp_) {
    const Duration begun = until_flag() + tcp_->send_credit() + nic.doorbell + nic.wqe_fetch;
    const IdleRoute::Train number{0, 1, kTcpCredit.count};
    return wire_.pass(number, (begun + nic.transmit_latency).ps).delivered +
           (nic.receive_latency + tcp_->receive_credit()).ps;
  }
  const IdleRoute::Train packet{0, 1, (kRethBytes + kImmediateBytes).count};
  const Duration posted =
      until_flag() + posting_.thread_step + until_fetched(0) + nic.transmit_latency;
  return wire_.pass(packet, posted.ps).delivered +
         (nic.receive_latency + until_completed() + posting_.thread_step).ps;
}

void IdleConnection::add_software_parts(Trace& trace) const {
  const NicModel& nic = node_.nic;
  const bool staged = hop_.staged_out || hop_.staged_in;
  if (!by_nic() && !staged) return;
  const bool polls = polls_data(protocol_);
  trace.add(kNoResource, Cause::kFlag, node_.gpu.flag_latency.ps * (polls ? 1 : 2));
  const int copies = (hop_.staged_out ? 1 : 0) + (hop_.staged_in ? 1 : 0);
  trace.add(kNoResource, Cause::kStaging, node_.gpu.copy_setup.ps * copies);
  if (!by_nic()) return;
  if (tcp_) {
    trace.add(kNoResource, Cause::kDoorbell, (nic.doorbell + nic.wqe_fetch).ps);
    trace.add(kNoResource, Cause::kWakeUp, tcp_->interrupt().ps);
    trace.add(source_socket_link_, Cause::kLatency, source_detour_.ps);
    trace.add(destination_socket_link_, Cause::kLatency, destination_detour_.ps);
    trace.add(wire_.first()->resource, Cause::kLatency, nic.transmit_latency.ps);
    trace.add(wire_.last()->resource, Cause::kLatency, nic.receive_latency.ps);
    return;
  }
  const bool fetched = !blue_flame(posted_);
  trace.add(kNoResource, Cause::kDoorbell,
            (nic.post + nic.doorbell + (fetched ? nic.wqe_fetch : Duration{})).ps);
  trace.add(source_socket_link_, Cause::kLatency,
            source_detour_.ps * (1 + (fetched ? kDetoursOfPost : 1)));
  const bool completes = !polls || hop_.staged_in;
  trace.add(kNoResource, Cause::kThread, posting_.thread_step.ps * (completes ? 2 : 1));
  if (completes) trace.add(kNoResource, Cause::kCompletion, nic.completion.ps);
  trace.add(kNoResource, Cause::kFlush, flush_.ps);
  if (flush_.ps > 0) trace.add(kNoResource, Cause::kThread, posting_.thread_step.ps * 2);
  const int detours = (completes ? 1 : 0) + (polls ? 0 : 1);
  trace.add(destination_socket_link_, Cause::kLatency, destination_detour_.ps * detours);
  trace.add(wire_.first()->resource, Cause::kLatency, nic.transmit_latency.ps);
  trace.add(wire_.last()->resource, Cause::kLatency, nic.receive_latency.ps);
}

void IdleConnection::add_memory_parts(Trace& trace) const {
  const auto add = [&](Duration time) { trace.add(kNoResource, Cause::kLatency, time.ps); };
  add(reading_);
  if (hop_.staged_in) add(node_.host_memory_latency);
  const bool by_pcie = by_nic() ? !write_.empty() : !node_.nvlink && !peer_.empty();
  if (by_pcie || hop_.staged_in) add(node_.gpu.write_latency);
}

Trace IdleConnection::parts(std::int64_t arrived) const {
  Trace trace;
  const auto add_links = [&](const IdleRoute& route) {
    route.visit_latencies([&](ResourceId resource, Duration latency) {
      trace.add(resource, Cause::kLatency, latency.ps);
    });
  };
  for (const IdleRoute* route : {&peer_, &relay_, &out_.data(), &request_, &completion_, &wire_,
                                 &write_, &in_.requests(), &in_.data()}) {
    add_links(*route);
  }
  add_software_parts(trace);
  add_memory_parts(trace);
  const IdleRoute* narrow = &peer_;
  for (const IdleRoute* route :
       {&relay_, &out_.data(), &completion_, &wire_, &write_, &in_.data()}) {
    if (route->busiest_time() > narrow->busiest_time()) narrow = route;
  }
  const Link* link = narrow->busiest();
  ResourceId slowest = link == nullptr ? kNoResource : link->resource;
  if (tcp_ && tcp_->receiving_time() > narrow->busiest_time()) slowest = receiving_core_;
  trace.add(slowest, Cause::kBusy, arrived - trace.total());
  return trace;
}

}  // namespace gradhaul
