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
// Not given wire time: doorbells, work requests and completion queue entries (64 bytes each, of a
// message) on PCIe; they cost latency.

#include <algorithm>
#include <memory>
#include <vector>

#include "core/collective_engine.h"
#include "core/placement.h"
#include "core/transport.h"
#include "sim/injector.h"
#include "sim/memory_ports.h"
#include "sim/message.h"
#include "sim/run_context.h"

namespace gradhaul {

class PacketTransport {
 public:
  PacketTransport(RunContext& context, MemoryPorts& memory, const Placement& placement,
                  const Communication& communication);
  ~PacketTransport();
  PacketTransport(const PacketTransport&) = delete;
  PacketTransport& operator=(const PacketTransport&) = delete;

  // Wires the ends that the ranks' engines name; ends[r] are those of rank r. Throws
  // SimulationError where no path leads from one to the other.
  void connect(const std::vector<const std::vector<ConnectionEnd>*>& ends);
  Transport& of(Rank rank);

  // The part of Endpoints that concerns messages.
  void on_first_start(const Packet& packet, std::int64_t now);
  void on_delivery(const Packet& packet, std::int64_t delivered);
  void on_event(RunEvent event, std::int32_t index);

  std::int64_t packets() const { return packets_; }  // data packets put on a network wire

  // What decides about the future, beside what the engine has said before.
  void append_state(StateWords& words) const;

 private:
  class RankTransport;
  struct DmaFlows {
    FlowId request = kNone;
    FlowId completion = kNone;
    FlowId write = kNone;
  };

  void add_injectors();
  void add_connection(const ConnectionKey& key);
  Path path_between(const Hop& hop, bool credit);
  Path nic_path(const Hop& hop, bool credit);
  const DmaFlows& dma_flows(int node, int nic, int gpu);
  FlowId add_flow(Route route, TrafficClass traffic_class, FlowKind kind, bool data,
                  FlowId answers = kNone);
  std::int32_t add_queue_pairs(std::int32_t injector, int count);

  void post(Rank rank, const WriteRequest& request);
  std::int32_t add_message(std::int32_t connection, const WriteRequest& request);
  void add_post_cost(Message& message, std::int64_t from, std::int32_t index);
  void message_ready(std::int32_t index);
  void transmit(std::int32_t injector);
  std::int64_t allowed_payload(Injector& injector, const Message& message);
  void ask(std::int32_t index, std::int64_t payload);
  void put_on_wire(std::int32_t index, std::int64_t payload, std::int64_t ready);
  void wake(std::int32_t injector, std::int64_t time);
  void blame_wait_in_nic(Message& message, const Injector& injector);

  void payload_asked(const Packet& packet, std::int64_t delivered);
  void payload_in_nic(const Packet& packet, std::int64_t delivered);
  void received(const Packet& packet, std::int64_t delivered);
  void acknowledge(const Packet& packet, std::int64_t time);
  void written(const Packet& packet, std::int64_t delivered);
  void acknowledged(const Packet& packet, std::int64_t delivered);
  void peer_delivered(const Packet& packet, std::int64_t delivered);
  void relayed(const Packet& packet, std::int64_t delivered);
  void event_for(std::int32_t message, RunEvent event, std::int64_t time);

  void data_arrived(std::int32_t index);
  void data_done(std::int32_t index);
  void credit_arrived(std::int32_t index);
  void credit_done(std::int32_t index);
  void deliver_arrival(std::int32_t index, const Completion& completion);
  void deliver_end(std::int32_t index, const Completion& completion);
  void let_go(std::int32_t index);

  void append_injector(StateWords& words, const Injector& injector) const;
  void append_waiting(StateWords& words, const Message& waiting) const;
  void append_message(StateWords& words, const Message& kept) const;

  const Message& message(std::int32_t index) const {
    return messages_[static_cast<std::size_t>(index)];
  }
  const SimulatedConnection& connection_of(const Message& m) const {
    return connections_[static_cast<std::size_t>(m.connection)];
  }
  const Path& path_of(const Message& m) const {
    return m.credit ? connection_of(m).credit : connection_of(m).data;
  }
  Message& message(std::int32_t index) { return messages_[static_cast<std::size_t>(index)]; }
  SimulatedConnection& connection_of(const Message& m) {
    return connections_[static_cast<std::size_t>(m.connection)];
  }
  // How many links of the path's reads a message keeps an eye on.
  int read_links(const Path& path) const {
    if (path.completion == kNone) return 0;
    return std::min(context_.engine.length(path.completion), Message::kReadLinks);
  }
  int node_of(Rank rank) const { return rank / placement_.ranks_per_node; }
  int gpu_of(Rank rank) const { return rank % placement_.ranks_per_node; }
  int gpu_index(int node, int gpu) const;

  RunContext& context_;
  MemoryPorts& memory_;
  const Placement& placement_;
  const Communication& communication_;
  const Node& node_;
  bool free_control_;  // the ideal network: credits and acknowledgements cost nothing
  std::vector<std::unique_ptr<RankTransport>> ranks_;
  std::vector<std::vector<std::int32_t>> local_to_connection_;  // by rank and ConnectionId
  std::vector<SimulatedConnection> connections_;
  std::vector<Injector> injectors_;  // NICs, node by node; then GPUs where they write through PCIe
  std::vector<QueuePair> queue_pairs_;
  std::vector<DmaFlows> dma_flows_;  // by node, NIC and GPU; made when first used
  std::vector<Message> messages_;
  std::vector<std::int32_t> free_messages_;
  Trace scratch_;
  std::int64_t packets_ = 0;
};

}  // namespace gradhaul
