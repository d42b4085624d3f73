#pragma once

// The core's Transport over the packet model: posts become messages, messages become packets, what
// their last packet meets becomes completions. Stages of a data write from GPU to GPU by RDMA, each
// with its cost from the device's data:
//
//   post (flag from the kernel, work request, doorbell, fetching it) -> reads of the payload, one
//   MTU at a time -> transmit -> wires, credits -> receive -> posted writes to the GPU ->
//   completion queue entry, polled -> flag to the kernel -> kWriteArrived. The receiving NIC
//   acknowledges the last packet as it comes in; the acknowledgement travels back with the data of
//   the other direction -> kWriteDone.
//
// Where packets may be lost, queue pairs number and acknowledge them, and send again what is
// missing: see sim/queue_pair_recovery.h.
//
// Where a GPU is staged (core/gpudirect.h), a copy to host memory comes before the post, and a copy
// from there after the completion queue entry (sim/packet_staging.cpp).
//
// Where a write goes by several queue pairs at once, NICs and network have it in parts
// (sim/packet_parts.cpp).
//
// Where a rank's communication thread costs time of its own (sim/communication_thread.h), posts and
// completions take turns on it (sim/packet_turns.cpp).
//
// TCP goes by the cores of hosts instead (sim/packet_tcp.cpp).
//
// Not given wire time: doorbells, work requests and completion queue entries (64 bytes each, of a
// message) on PCIe; they cost latency.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/connection.h"
#include "core/transport.h"
#include "sim/communication_thread.h"
#include "sim/copy_engine.h"
#include "sim/host_cores.h"
#include "sim/injector.h"
#include "sim/memory_ports.h"
#include "sim/message.h"
#include "sim/nic_contexts.h"
#include "sim/queue_pair_recovery.h"
#include "sim/reaction_point.h"
#include "sim/run_context.h"

namespace gradhaul {

// A queue pair has tried as often as it may.
struct RetriesExceeded {
  ConnectionKey connection;  // as its source calls it
  bool credit = false;       // slots that go the other way
  int queue_pair = 0;        // of the connection
  std::string sender;        // "node0.nic1"
  std::string receiver;
  int retry = 0;
  std::int64_t patience = 0;  // ps, each time
  LinkId lost_on = kNoLink;
  Rank first_port = 0;     // of those that were opened together
  bool not_ready = false;  // it was told so often that no receive was posted
};

class PacketTransport {
 public:
  PacketTransport(RunContext& context, MemoryPorts& memory);
  ~PacketTransport();
  PacketTransport(const PacketTransport&) = delete;
  PacketTransport& operator=(const PacketTransport&) = delete;

  // Once, before the run.
  void add_flows(const Wiring& wiring);
  // Of each port, the ends of connections that its engine names; null: it has none.
  using PortEnds = std::vector<const std::vector<ConnectionEnd>*>;
  // Between events, makes as many ports as there are ends, and joins them by connections of the
  // wiring that have been added: rank r of these is the port that is returned + r. `slots`: of each
  // connection; `costs`: of each port's communication thread, which has done nothing yet. A port is
  // what completions are delivered to.
  Rank open(std::span<const WiredConnection> wired, const PortEnds& ends, int slots,
            Protocol protocol = Protocol::kSimple, const ThreadCosts& costs = {});
  // Nothing that was posted at these ports is on its way any more, acknowledgements included.
  bool idle(Rank first_port) const;
  // Takes these ports back, which are idle.
  void close(Rank first_port);
  Transport& of(Rank port);
  // Data posted so far on the i-th connection of those that were opened with this port, and of all
  // connections by a queue pair of the wiring.
  std::int64_t payload(Rank first_port, std::size_t i) const {
    const std::int32_t number = open_.at(first_port).connections[i];
    return connections_[static_cast<std::size_t>(number)].payload;
  }
  std::int64_t payload_of_queue_pair(std::int32_t queue_pair) const {
    return queue_pairs_[static_cast<std::size_t>(queue_pair)].payload;
  }

  // The port's rank is through: how much later its thread has taken back what it registered.
  Duration release(Rank port, Trace& parts);

  // How long threads have been busy by now, by port; none where they cost nothing. And what has
  // been added since `since`, so many times more.
  std::vector<std::int64_t> busy_threads() const;
  void repeat(const std::vector<std::int64_t>& since, std::int64_t times);

  // What a GPU's cores have done by now; nothing without TCP.
  HostCores::Use core_use(std::int32_t gpu) const {
    return cores_ ? cores_->use(gpu) : HostCores::Use{};
  }

  // The part of Endpoints that concerns messages.
  void on_first_start(const Packet& packet, std::int64_t now);
  void on_delivery(const Packet& packet, std::int64_t delivered);
  void on_loss(const Packet& packet, LinkId link);
  // Throws RetriesExceeded.
  void on_event(RunEvent event, std::int32_t index);

  NotificationCounts notifications(int node, int nic) const {
    return injectors_[static_cast<std::size_t>(nic_injector(node_, node, nic))].notifications;
  }
  // What a NIC has had to do about losses.
  RecoveryCounts recovery(int node, int nic) const {
    if (recoveries_.empty()) return {};
    return recovery_counts_[static_cast<std::size_t>(nic_injector(node_, node, nic))];
  }
  // How often a NIC has had to fetch the context of a queue pair or of a memory region.
  std::int64_t context_misses(int node, int nic) const {
    if (contexts_.empty()) return 0;
    return contexts_[static_cast<std::size_t>(nic_injector(node_, node, nic))].misses();
  }
  // Queue pairs keep account of packets.
  bool numbers_any() const { return !recoveries_.empty(); }
  // What was posted has come, each packet once.
  bool all_accepted() const;
  std::int64_t packets() const { return packets_; }  // data packets put on a network wire

  // What decides about the future, beside what the engine has said before.
  void append_state(StateWords& words) const;

 private:
  friend class Stations;  // steps NICs in its place, where packets are plain (sim/plain_hop.h)
  class RankTransport;
  struct OpenPorts {
    std::int32_t ports = 0;
    std::vector<std::int32_t> connections;
  };

  struct IncomingPacket {
    Packet packet;
    std::int64_t delivered = 0;
    std::int64_t arrived = 0;
  };

  void add_injectors();
  Rank take_ports(std::int32_t count);
  std::int32_t take_connection(SimulatedConnection connection);

  void post(Rank rank, const WriteRequest& request);
  std::int32_t take_message();
  std::int32_t add_message(std::int32_t connection, const WriteRequest& request);
  void add_post_cost(Message& message, std::int64_t from, std::int32_t index);
  std::int64_t add_flag(Message& message, const Path& path, std::int64_t from);
  void post_to_nic(Message& message, std::int64_t from, std::int32_t index);
  std::int64_t in_order(const Message& posted, std::int64_t known);
  std::int64_t flush(Message& there, std::int64_t from);
  void tell_kernel(std::int32_t index, std::int64_t from);
  void post_request(std::int32_t index, std::int64_t from);
  int parts_of(const Message& posted) const;
  void post_parts(std::int32_t index, int parts, std::int64_t from);
  std::int32_t add_part(std::int32_t whole, std::int32_t queue_pair, std::int32_t length);
  bool all_written(Packet& last, std::int64_t& delivered);
  std::int32_t all_ended(std::int32_t index);
  void plan_turns(Message& message);
  CommunicationThread& thread_at(const Message& message, bool source);
  void take_post_turn(std::int32_t index);
  bool took_arrival_turn(std::int32_t index);
  bool took_done_turn(std::int32_t index);
  void write_out(std::int32_t index, std::int64_t now);
  void message_ready(std::int32_t index);
  std::int32_t choose_queue_pair(Message& ready);
  bool held_in_nic(std::int32_t index);
  void let_in(const Message& ready);
  void bond(const Path& path);
  bool bring_port_with_room_first(Injector& sender);
  void hold_in_port(const Message& sending, std::int64_t payload);
  std::int64_t find_contexts_of(const Packet& packet, std::int64_t arrived);
  void note_ready(Message& message);
  void activate(std::int32_t queue_pair);
  void transmit(std::int32_t injector);
  bool transmit_next(std::int32_t injector);
  std::int64_t allowed_payload(Injector& injector, const Message& message);
  void ask(std::int32_t index, std::int64_t payload);
  void put_on_wire(std::int32_t index, std::int64_t payload, std::int64_t ready);
  void wake(std::int32_t injector, std::int64_t time);
  bool bring_sendable_first(std::int32_t injector, std::int64_t now);
  void pace(std::int32_t queue_pair, std::int64_t payload, std::int64_t now);
  void notify(const Packet& packet, std::int64_t time);
  void heed_notification(std::int32_t queue_pair);
  void blame_wait_in_nic(Message& message, const Injector& injector);
  void note_backlogs(Message& message, FlowKind kind);
  void blame_route(const Path& path, FlowKind kind, const Message& message, std::int64_t waited);

  void stage_out(std::int32_t index, std::int64_t from);
  void start_copy(std::int32_t index, std::int64_t from);
  std::int32_t copy_engine(const Message& message) const;
  void copy_ready(std::int32_t index);
  void copy(std::int32_t engine);
  void send_copy(std::int32_t index, std::int32_t payload, bool last, bool in);
  void wake_copies(std::int32_t engine, std::int64_t time);
  void copy_left(const Packet& packet);
  void copied_out(const Packet& packet, std::int64_t delivered);
  void copy_asked(const Packet& packet, std::int64_t delivered);
  void copied_in(const Packet& packet, std::int64_t delivered);

  static std::int32_t tcp_bytes(const Message& message);
  std::int32_t tcp_aggregates(const Message& message) const;
  TcpSockets& tcp_of(const Message& message);
  void tcp_send(std::int32_t index);
  void tcp_deal(std::int32_t index);
  void work(std::int32_t core, const CoreJob& job);
  void begin_work(std::int32_t core);
  void core_copied(const Packet& packet, std::int64_t delivered);
  void core_finished(std::int32_t core);
  void tcp_sent(const CoreJob& job);
  void tcp_in_nic(std::int32_t index);
  std::int64_t tcp_readable(const Message& message) const;
  // The NIC has asked for all that it has been given, with the payload that is about to be.
  bool tcp_waits(const Message& message, std::int64_t payload) const {
    return path_of(message).kind == PathKind::kNic && tcp_readable(message) == payload;
  }
  void tcp_acknowledge(const Packet& packet, std::int64_t time);
  void tcp_written(const Packet& packet, std::int64_t delivered);
  std::int32_t tcp_receiving_core(const Message& message);
  void tcp_landed(std::int32_t index);
  void tcp_receive(std::int32_t index);
  void tcp_received(std::int32_t index);

  bool numbers(const Path& path) const {
    return !recoveries_.empty() && path.kind == PathKind::kNic;
  }
  QueuePairRecovery& recovery_of(const Message& m) {
    return recoveries_[static_cast<std::size_t>(path_of(m).first_queue_pair + m.queue_pair)];
  }
  void number_packets(std::int32_t index);
  void note_begun(const Message& message, std::int64_t now);
  void note_on_wire(Message& message, Packet& packet, std::int64_t ready);
  bool take_in_order(const Packet& packet, std::int64_t arrived);
  void take_early(const Packet& packet, std::int64_t delivered, std::int64_t arrived);
  bool note_early(const Packet& packet, std::int64_t arrived);
  void note_gap(const Packet& packet, std::int64_t arrived);
  void complete(const Packet& last, std::int64_t arrived);
  void blame_late(const Message& message, const Packet& last, std::int64_t late);
  void settle_trace(const Packet& packet);
  void repeat(std::int32_t queue_pair, std::int32_t first, std::int32_t count);
  std::int32_t add_repeat(std::int32_t message, std::int32_t first, std::int32_t end);
  void end_repeat(std::int32_t index);
  void drop_packet(const Packet& packet, std::int64_t arrived);
  void answer(const Message& message, bool negative, std::int64_t time);
  void send_answer(const Message& message, const QueuePairRecovery::Answer& answer,
                   std::int64_t time);
  void answered(std::int32_t queue_pair);
  void add_recoveries(const Wiring& wiring);
  void take(const Packet& packet, std::int64_t arrived);
  void throw_away(std::int32_t index, const Packet& packet, std::int64_t delivered);
  void begin_reading(Message& message);
  void end_reading(std::int32_t index);
  void watch_timer(std::int32_t queue_pair, std::int64_t from);
  void timer_ran(std::int32_t queue_pair);
  void try_again(std::int32_t queue_pair, Cause cause);
  void begin_again(std::int32_t queue_pair, Cause cause);
  [[noreturn]] void give_up(std::int32_t queue_pair, std::int64_t patience, int retry,
                            bool not_ready) const;
  void send_from(std::int32_t queue_pair, std::int32_t number);
  std::int64_t blame_losses(Message& message, std::int64_t waited);
  static void blame_slot(Trace& parts);
  RecoveryCounts& counts_at(std::int32_t injector) {
    return recovery_counts_[static_cast<std::size_t>(injector)];
  }
  std::int32_t receiving_injector(const Path& path) const {
    return nic_injector(node_, path.destination_gpu / node_.gpu_count, path.destination_nic);
  }
  // A trace of its own is under way with the last packet.
  bool all_asked(const Message& m) {
    return m.credit ? recovery_of(m).begun() >= m.first_packet + m.packets : m.asked == m.amount;
  }

  void payload_asked(const Packet& packet, std::int64_t delivered);
  void payload_in_nic(const Packet& packet, std::int64_t delivered);
  void received(const Packet& packet, std::int64_t delivered);
  void accept(const Packet& packet, std::int64_t delivered, std::int64_t arrived);
  void accept_later(const Packet& packet, std::int64_t delivered, std::int64_t arrived);
  void accept_now(std::int32_t index);
  bool takes_receive(const Packet& packet, std::int64_t arrived);
  void post_receive_again(std::int32_t index, std::int64_t time);
  void wait_for_receive(std::int32_t queue_pair, std::int32_t expected);
  void rnr_timer_ran(std::int32_t queue_pair);
  void acknowledge(const Packet& packet, std::int64_t time);
  std::int64_t add_completion(const Packet& packet, const Path& path, std::int64_t from);
  void written(Packet packet, std::int64_t delivered);
  void acknowledged(const Packet& packet, std::int64_t delivered);
  void peer_delivered(const Packet& packet, std::int64_t delivered);
  void relayed(const Packet& packet, std::int64_t delivered);
  void event_for(std::int32_t message, RunEvent event, std::int64_t time);

  void data_arrived(std::int32_t index);
  void data_done(std::int32_t ended);
  void credit_arrived(std::int32_t index);
  void credit_done(std::int32_t index);
  void deliver_arrival(std::int32_t index, const Completion& completion);
  void deliver_end(std::int32_t index, const Completion& completion);
  void let_go(std::int32_t index);

  void append_injector(StateWords& words, const Injector& injector) const;
  void append_waiting(StateWords& words, const Message& waiting) const;
  void append_backlogs(StateWords& words, const Message& waiting, FlowKind kind) const;
  void append_copies(StateWords& words, std::int32_t engine) const;
  void append_message(StateWords& words, const Message& kept) const;

  const Message& message(std::int32_t index) const {
    return messages_[static_cast<std::size_t>(index)];
  }
  const SimulatedConnection& connection_of(const Message& m) const {
    return connections_[static_cast<std::size_t>(m.connection)];
  }
  const Path& path_of(const Message& m) const {
    const WiredConnection& wires = connection_of(m).wires;
    return m.credit ? wires.credit : wires.data;
  }
  static FlowKind out_kind(const Path& path) {
    return path.kind == PathKind::kPeer ? FlowKind::kPeer : FlowKind::kWire;
  }
  // Hands a packet whose message is traced to a flow of its path.
  void send(const Path& path, FlowKind kind, const Packet& packet, std::int64_t ready,
            int queue_pair = 0);
  Message& message(std::int32_t index) { return messages_[static_cast<std::size_t>(index)]; }
  // What was posted, of which this may be a part.
  std::int32_t whole_of(std::int32_t index) const {
    const std::int32_t whole = message(index).part_of;
    return whole == kNone ? index : whole;
  }
  SimulatedConnection& connection_of(const Message& m) {
    return connections_[static_cast<std::size_t>(m.connection)];
  }
  // How many links of a flow of the path a message keeps an eye on.
  int watched_links(const Path& path, FlowKind kind) const {
    const FlowId flow = path.flow(kind);
    if (flow == kNone) return 0;
    return std::min(context_.engine.length(flow), Message::kReadLinks);
  }

  RunContext& context_;
  MemoryPorts& memory_;
  const Node& node_;
  bool free_control_;                                  // the ideal network: packets have no headers
  std::vector<std::unique_ptr<RankTransport>> ranks_;  // by port
  std::map<Rank, OpenPorts> open_;                     // by their first
  std::map<std::int32_t, std::vector<Rank>> closed_ports_;  // by how many they are
  std::vector<CommunicationThread> threads_;                // by port; none where they cost nothing
  std::vector<SimulatedConnection> connections_;
  std::vector<std::int32_t> free_connections_;
  std::vector<Injector> injectors_;  // NICs, node by node; then GPUs where they write through PCIe
  std::vector<CopyEngine> copy_engines_;  // by GPU of the cluster, its two
  std::optional<HostCores> cores_;        // TCP
  std::vector<TcpSockets> tcp_;           // TCP: by queue pair
  std::vector<QueuePair> queue_pairs_;
  std::vector<ReactionPoint> reactions_;         // by queue pair; none without congestion control
  std::vector<QueuePairRecovery> recoveries_;    // by queue pair; none where nothing is lost
  std::vector<RecoveryCounts> recovery_counts_;  // by NIC; none where nothing is lost
  std::vector<NicContexts> contexts_;            // by NIC; none where each holds all it needs
  bool tells_gaps_ = true;
  bool keeps_early_ = false;
  std::vector<IncomingPacket> incoming_;  // of queue pairs whose receives may be missing
  std::vector<std::int32_t> free_incoming_;
  std::vector<Message> messages_;
  std::vector<std::int32_t> free_messages_;
  Trace scratch_;
  std::int64_t packets_ = 0;
};

}  // namespace gradhaul
