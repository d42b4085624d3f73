#pragma once

// Messages and the ways they travel: what the simulated transport keeps of each posted write and of
// each direction of a connection.

#include <array>
#include <cstdint>

#include "core/bounded_queue.h"
#include "core/completion.h"
#include "core/connection.h"
#include "sim/blame.h"
#include "sim/packet_engine.h"

namespace gradhaul {

// Kinds of flows, by what happens at their end.
enum class FlowKind : std::uint8_t {
  kReadRequest,  // NIC asks a GPU for payload
  kCompletion,   // payload comes to the NIC
  kWire,         // NIC to NIC
  kWrite,        // NIC to GPU
  kAcknowledge,  // NIC to NIC, back
  kPeer,         // GPU to GPU of one node
  kRelay,        // GPU to the GPU whose NIC sends it on
};

enum class PathKind : std::uint8_t {
  kNic,      // through a NIC, perhaps by way of another GPU first
  kPeer,     // within the node
  kInstant,  // costs nothing: credits of the ideal network
};

// One direction of one connection, for data or for credits.
struct Path {
  PathKind kind = PathKind::kInstant;
  std::int32_t injector = kNone;  // kNic; kPeer where GPUs write through PCIe
  std::int32_t first_queue_pair = kNone;
  std::int32_t source_gpu = 0;        // whose memory is read, among all GPUs of the cluster
  std::int32_t destination_gpu = 0;   // whose memory is written
  ResourceId receiver = kNoResource;  // the NIC at the far end
  FlowId request = kNone;
  FlowId completion = kNone;
  FlowId out = kNone;  // wire, or peer
  FlowId write = kNone;
  FlowId acknowledge = kNone;  // none: the sender learns at once
  FlowId relay = kNone;
  Duration peer_latency;  // kPeer: of a credit, which is a single store
};

struct SimulatedConnection {
  SimulatedConnection(std::int32_t most_in_flight)
      : arriving(static_cast<std::size_t>(most_in_flight)),
        finishing(static_cast<std::size_t>(most_in_flight)) {}
  ConnectionKey key;
  ConnectionId at_source = 0;
  ConnectionId at_destination = 0;
  Path data;
  Path credit;
  std::int64_t writes = 0;
  std::int32_t credits_in_flight = 0;
  // Data messages in the order of their posts: completions are delivered in that order, whatever
  // the queue pairs do.
  BoundedQueue<std::int32_t> arriving;
  BoundedQueue<std::int32_t> finishing;
};

struct Message {
  std::int32_t connection = kNone;
  bool credit = false;
  bool arrived = false;
  bool finished = false;
  std::int32_t holders = 0;   // events still to come for it
  std::int32_t amount = 0;    // bytes, or slots returned
  std::int32_t next = kNone;  // behind it in its queue pair
  std::int32_t asked = 0;     // payload asked for so far
  std::int32_t gathered = 0;  // payload in the NIC of the packet being put together
  std::int32_t sent = 0;      // payload handed to the wire
  std::int32_t trace = kNone;
  ChainId chain = kNone;
  std::int64_t posted = 0;
  // When the NIC knew of it, and how long its wire and the links of the read path had been backed
  // up by then: what the wait for its last packet is put down to.
  std::int64_t ready = 0;
  std::int64_t wire_backlog = 0;
  std::int64_t wire_stall = 0;
  static constexpr int kReadLinks = 12;
  std::array<std::int64_t, kReadLinks> read_backlog{};
};

}  // namespace gradhaul
