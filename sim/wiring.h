#pragma once

// Who sends to whom, by which flows over which links: all of a simulated transport that is settled
// before it runs, as plain data.
//
// Flows and connections are numbered by what they are, not by where: first by the places of source
// and destination in their node's part of the ring, channel, and how many nodes lie between; only
// then by kind and source. Numbers settle ties, so parts of a cluster that are alike settle them
// alike.

#include <array>
#include <cstdint>
#include <vector>

#include "core/communication.h"
#include "core/connection.h"
#include "core/membership.h"
#include "core/placement.h"
#include "sim/packet.h"
#include "sim/ring_places.h"

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
  kNotify,       // NIC to NIC, back: congestion has been experienced
  kCopyOut,      // GPU to host memory, of what is staged
  kCopyRequest,  // GPU asks host memory for what is staged
  kCopyIn,       // and gets it
  kSendCopy,     // TCP: a core copies within host memory, from the user's to the kernel's
  kReceiveCopy,  // and back
};
inline constexpr std::size_t kFlowKinds = 13;

enum class PathKind : std::uint8_t {
  kNic,      // through a NIC, perhaps by way of another GPU first
  kPeer,     // within the node
  kInstant,  // costs nothing: credits of the ideal network
};

constexpr std::array<FlowId, kFlowKinds> no_flows() {
  std::array<FlowId, kFlowKinds> flows{};
  flows.fill(kNone);
  return flows;
}

// One direction of one connection, for data or for credits.
struct Path {
  PathKind kind = PathKind::kInstant;
  std::int32_t place = 0;  // among all paths, where their messages do something at one instant
  std::int32_t injector = kNone;  // kNic; kPeer where GPUs write through PCIe
  std::int32_t first_queue_pair = kNone;
  int queue_pairs = 0;
  bool splits = false;  // kNic: Communication::splits_over_queue_pairs
  // Where each queue pair may take a way of its own through the network (ECMP), one flow each for
  // kWire, kAcknowledge and kNotify, numbered one after the other from the first; else 1.
  int ways = 1;
  std::int32_t source_gpu = 0;        // whose memory is read, among all GPUs of the cluster
  std::int32_t destination_gpu = 0;   // whose memory is written
  std::int32_t destination_nic = 0;   // kNic: of its node
  ResourceId sender = kNoResource;    // the link by which it leaves
  ResourceId receiver = kNoResource;  // the NIC at the far end
  std::array<FlowId, kFlowKinds> flows = no_flows();
  // Copies (sim/copies.h) from whoever posts to where each flow is counted from.
  std::array<int, kFlowKinds> shifts{};
  int timeout = 20;  // kNic: Communication::timeout
  int retry = 7;     // kNic: Communication::retry
  // kNic, of messages that take receives which may be missing (core/receive_queue.h): how many a
  // queue pair has, and how late they are posted again; 0: none is ever missing.
  int receives = 0;
  Duration receives_late;
  int rnr_timer = 12;
  int rnr_retry = 7;
  Bytes blue_flame;  // kNic: Communication::blue_flame
  // kNic: what the read back takes that the receiver's NIC makes before the kernel is told
  // (core/arrival_flush.h), from the post to its completion being there; 0: it makes none.
  Duration flush;
  Duration peer_latency;  // kPeer: of a credit, which is a single store
  // Copied to host memory by the source GPU's copy engine, and from there by the destination's.
  bool staged_out = false;
  bool staged_in = false;
  // TCP: the rank's cores at both ends, and which of its sockets there are the connection's.
  ResourceId sending_core = kNoResource;
  ResourceId receiving_core = kNoResource;
  std::int32_t first_sending_socket = 0;
  std::int32_t first_receiving_socket = 0;
  // Of the communication threads at both ends, each way to the devices they serve: where they run
  // at another socket.
  Duration source_detour;
  Duration destination_detour;
  ResourceId source_socket_link = kNoResource;
  ResourceId destination_socket_link = kNoResource;

  FlowId flow(FlowKind of) const { return flows[static_cast<std::size_t>(of)]; }
  FlowId flow(FlowKind of, int queue_pair) const { return flow(of) + queue_pair % ways; }
  int shift(FlowKind of) const { return shifts[static_cast<std::size_t>(of)]; }
};

struct WiredConnection {
  ConnectionKey sent_as;      // what the source calls it
  ConnectionKey received_as;  // what the destination calls it: the same, but for copies
  Path data;
  Path credit;
  int shift = 0;  // copies from its source to its destination
};

struct Wiring {
  std::vector<FlowSpec> flows;
  std::vector<WiredConnection> connections;
  std::vector<std::int32_t> queue_pairs;  // the injector of each
};

// Injectors: NICs, node by node; then GPUs, which write to each other where there is no NVLink.
constexpr std::int32_t nic_injector(const Node& node, int of_node, int nic) {
  return of_node * node.nic_count + nic;
}
constexpr std::int32_t gpu_injector(const Cluster& cluster, int of_node, int gpu) {
  return cluster.nodes * cluster.node.nic_count + of_node * cluster.node.gpu_count + gpu;
}

// Of `keys`, in any order, each once. `seed` settles what ECMP makes of them. Throws
// SimulationError where no path leads from one to the other.
Wiring wire_up(const Fabric& fabric, const Placement& placement, const Communication& communication,
               std::uint64_t seed, std::vector<ConnectionKey> keys);

struct WiringSettings {
  int queue_pairs = 1;  // of a connection
  std::uint64_t seed = 1;
  bool credits = true;  // false: nobody returns slots on these connections
  int timeout = 20;     // as Communication::timeout
  int retry = 7;
  Bytes blue_flame = {};
  Flush flush = Flush::kOff;
  Protocol protocol = Protocol::kSimple;
  // Receives (core/receive_queue.h): posted, and needed at most; 0: nobody takes any. Whether
  // credits take some too.
  int receives = 0;
  int needed_receives = 0;
  bool credits_take_receives = false;
  int rnr_timer = 12;
  int rnr_retry = 7;
  bool splits = false;  // as Communication::splits_over_queue_pairs
};
WiringSettings settings_of(const Communication& communication, std::uint64_t seed);
// The same for ranks that are only some of the cluster's, or none of its: `placement` is theirs.
Wiring wire_up(const Fabric& fabric, const Placement& placement, const Membership& members,
               const WiringSettings& settings, std::vector<ConnectionKey> keys);

// One more wiring of the same fabric, numbered after all that is there.
void append(Wiring& all, Wiring more);

// All paths by their places.
std::vector<const Path*> in_place_order(const Wiring& wiring);

}  // namespace gradhaul
