#pragma once

// What a cluster is: plain structs with units, filled from YAML by scenarios/, read by placement,
// simulator and reports. Every field is what the key of the same name in a scenario means; numbers
// come with their sources in scenarios/{devices,nodes,networks}/*.yaml.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/faults.h"
#include "core/quantities.h"
#include "core/tcp_settings.h"
#include "core/thread_placement.h"

namespace gradhaul {

struct PcieLink {
  int generation = 5;  // 1..6
  int lanes = 16;      // 1, 2, 4, 8, 16
  friend bool operator==(const PcieLink&, const PcieLink&) = default;
};

struct GpuModel {
  std::string name;
  int compute_capability = 0;  // 90 is 9.0; 0: not said
  // Nothing: the GPU hangs on no PCIe at all; its NIC reaches its memory in no time (node `ideal`).
  std::optional<PcieLink> pcie;
  BitRate memory_bandwidth = kUnlimited;
  // One channel's reduce or copy kernel (one thread block), bytes of the message a second.
  BitRate reduce_bandwidth = kUnlimited;
  Duration read_latency;   // a read request has arrived: until its first completion leaves
  Duration write_latency;  // the last TLP of a posted write has arrived: until it can be read
  Duration kernel_launch;  // start of a collective until its kernel runs
  Duration flag_latency;   // one way between host and kernel: a flag in mapped memory
  Duration copy_setup;     // from asking for a copy to or from host memory until it starts
  // What only a training step asks for; 0: not known.
  std::int64_t tensor_flops = 0;  // a second, dense matrix products of 16-bit floats
  int multiprocessors = 0;        // a channel's kernel takes one
  Bytes memory{};                 // its size
};

// A GPU that computes in no time (node `ideal`).
inline constexpr std::int64_t kUnlimitedFlops = std::numeric_limits<std::int64_t>::max();

// What a NIC makes of packets that come out of order because the network spreads them over several
// ways.
enum class OutOfOrder : std::uint8_t {
  kPlace,  // writes each to its place; a message is complete when all of it has come
  kNak,    // takes a gap for a loss, and says so
};

// What is sent again when a packet is missing.
enum class Retransmission : std::uint8_t {
  kGoBackN,          // it, and all behind it, which the receiver has dropped
  kSelectiveRepeat,  // it alone: the receiver keeps what is behind it
};

struct NicModel {
  std::string name;
  BitRate rate = kUnlimited;         // the greatest line rate of a port
  std::optional<PcieLink> pcie;      // nothing: as for GpuModel
  Duration post;                     // CPU time to write one work request
  Duration doorbell;                 // MMIO write: until the NIC sees it
  Duration wqe_fetch;                // the NIC reads the work request
  Duration transmit_latency;         // payload is in the NIC: until its first bit is on the wire
  Duration receive_latency;          // last bit in the NIC: until the first TLP or the ACK leaves
  Duration completion;               // CQE written, polled and handled
  Bytes transmit_buffer{};           // payload asked for or held, not yet sent; 0: no limit
  Bytes receive_buffer{};            // of its port and lane; 0: as the network's
  std::int64_t message_rate = 0;     // work requests a second, all queue pairs; 0: no limit
  std::int64_t queue_pair_rate = 0;  // and those of one queue pair; 0: no limit
  // How many contexts of queue pairs, and of memory regions, the NIC holds; 0: all. One that it
  // does not hold takes a dependent read of host memory over PCIe, one at a time.
  int queue_pair_cache = 0;
  int memory_region_cache = 0;
  Duration context_fetch;
  Duration queue_pair_setup;  // making one, and the three changes of state until it can send
  OutOfOrder out_of_order = OutOfOrder::kPlace;
  Retransmission retransmission = Retransmission::kGoBackN;
};

// A switch of the PCIe tree and what hangs below it, or devices directly at a socket.
struct PcieBranch {
  std::string switch_name;           // empty: the devices hang at `parent` directly
  std::string parent;                // "socketN" or another switch's name
  std::optional<PcieLink> link;      // the switch's uplink; without a switch: caps the devices' own
  std::vector<std::string> devices;  // "gpuN", "nicN"
};

struct PcieSettings {
  Bytes max_payload{256};
  Bytes max_read_request{4096};
  int tags = 256;
  int posted_header_credits = 128;
  int posted_data_credits = 1024;  // of 16 bytes
  Duration credit_loop{200'000};   // TLP leaves: until its credit is back, the receiver being free
  double dllp_overhead = 0.03;     // share of the raw rate that DLLPs and ordered sets take
  // Access control services: switches send whatever a peer sends to a peer up to the root complex,
  // which sends it down again.
  bool acs = false;
  // False: a root complex makes the writes of each device visible one after the other, at no more
  // than `ordered_writes`.
  bool relaxed_ordering = true;
  BitRate ordered_writes{150'000'000'000};
  // Root ports translate addresses, page by page, `page_walks` at a time.
  bool iommu = false;
  Duration iotlb_miss{330'000};
  Bytes iotlb_page{4096};
  int page_walks = 2;
};

struct RootComplex {
  BitRate peer_to_peer_read = kUnlimited;
  BitRate peer_to_peer_write = kUnlimited;
  // Zero: the root complexes pass no peer-to-peer across the socket link.
  BitRate peer_to_peer_across_sockets = kUnlimited;
  Duration latency{300'000};
  Bytes read_completion{64};       // the piece in which reads of host memory are answered
  std::optional<Bytes> tlp_split;  // a peer's TLPs are passed on in pieces of this size
};

struct SocketLink {
  BitRate bandwidth = kUnlimited;  // payload, per direction
  Duration latency{100'000};
};

struct Nvlink {
  BitRate bandwidth;        // nominal, per GPU and direction
  double efficiency = 1.0;  // what kernels get of it
  Duration latency;
};

enum class CpuVendor : std::uint8_t { kOther, kIntel, kAmd };

struct Node {
  std::string name;
  CpuVendor cpu = CpuVendor::kOther;  // what NCCL's tuner takes some constants by
  int sockets = 1;
  SocketLink socket_link;
  RootComplex root_complex;
  BitRate host_memory_bandwidth = kUnlimited;  // per socket, reads and writes together
  Duration host_memory_latency{100'000};       // a read is there: until its first byte leaves
  int gpu_count = 1;
  GpuModel gpu;
  int nic_count = 1;
  NicModel nic;
  // Each NIC has two ports that are bonded (LACP): to the network one port, of which a queue pair's
  // packets take one by its UDP source port (core/ecmp.h).
  bool bonded_nics = false;
  std::vector<PcieBranch> pcie;  // empty: no PCIe in the way (GPU g and NIC g mod NICs are one)
  std::optional<Nvlink> nvlink;  // an NVSwitch joining all GPUs
  PcieSettings pcie_settings;
};

enum class NetworkKind : std::uint8_t {
  kInfiniband,
  kIdeal,     // serialises payload only: no headers, no credits, no acknowledgements on the wire
  kRoce,      // RoCEv2 over Ethernet
  kEthernet,  // TCP over Ethernet
};
enum class TopologyKind : std::uint8_t {
  kBackToBack,
  kSingleSwitch,
  kLeafSpine,
  kRailOptimized,
  kRing,  // of leaves, each cabled to the two beside it
};

// Which way round a ring of leaves packets go (core/leaf_ring.h).
enum class RingWay : std::uint8_t { kShortest, kClockwise, kUpDown };

struct Topology {
  TopologyKind kind = TopologyKind::kSingleSwitch;
  // 0: as wide as needed (single_switch, back_to_back).
  int switch_ports = 0;
  // Filled in by size_topology() (core/topology_size.h) where the scenario does not say.
  int leaves = 0;
  int spines = 0;
  // To all spines together; of a ring to both neighbours, half of them to each.
  int uplinks_per_leaf = 0;
  RingWay way = RingWay::kShortest;  // ring
};

// By which of several equal ways a packet goes.
enum class Routing : std::uint8_t {
  kStatic,  // by destination (core/topology_size.h)
  kEcmp,    // by a hash over addresses and UDP source port, each queue pair its own (core/ecmp.h)
  // Each packet by itself (sim/packet_ways.cpp):
  kAdaptive,  // by the way with least in its queue when the packet comes
  kSpray,     // by a draw
};

// Priority flow control (IEEE 802.1Qbb) of the one lossless priority. A receiver whose buffer for a
// port holds more than `xoff` of wire bytes pauses the transmitter at the other end of the cable,
// and lets it go on at `xon` or less.
struct PauseSettings {
  bool on = true;    // false: nothing is paused, and what does not fit is dropped
  int priority = 3;  // the lossless one
  Bytes xoff;
  Bytes xon;
  Bytes port_buffer;  // a port's even share of a switch's buffer, and what a NIC has that says none
  // For what still comes after that. Nothing: what each cable needs (core/pause_headroom.h).
  std::optional<Bytes> headroom;
  // Above 0: switches pause at alpha x (what is free of the buffer that their ports share), and let
  // go on at xoff - xon below that [Choudhury and Hahne, 1998]. NICs keep to xoff. Where nothing is
  // paused, no outgoing queue gets more of the buffer than that.
  double alpha = 0;
  Duration response;  // a pause frame has come in: until no more frames are started
};

// DCQCN [Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015], as
// ConnectX firmware keeps to it: switches mark packets where queues grow, the receiving NIC
// notifies the sender's, and that sets the rate of the queue pair (sim/reaction_point.h).
struct CongestionControl {
  bool dcqcn = false;
  // Of an outgoing queue that holds q wire bytes: marked with probability 0 up to kmin, from there
  // rising to pmax at kmax, and always beyond that.
  Bytes kmin;
  Bytes kmax;
  double pmax = 0.2;
  Duration notification_interval;  // of one queue pair, between two notifications
  double gain = 0;                 // g: what one interval weighs in alpha
  double initial_alpha = 1;
  Duration alpha_timer;
  Duration decrease_interval;  // no more than one cut in each
  Duration increase_timer;
  Bytes increase_bytes;         // 0: the timer alone
  int fast_recovery = 1;        // F: so many increases go half the way back
  BitRate additive_increase{};  // of the target, after these
  BitRate hyper_increase{};     // and after one more
  BitRate least_rate{};
  // Each cut takes the target down to the rate that is cut; else only the first after an increase.
  bool clamp_target = false;
  double min_decrease_factor = 0;  // one cut leaves at least so much of the rate
  BitRate first_cnp_rate{};  // that the first notification finds, and then cuts; 0: the line's
};

struct Network {
  std::string name;
  NetworkKind kind = NetworkKind::kInfiniband;
  BitRate link = kUnlimited;  // data rate of a port after line coding (InfiniBand 4x NDR: 400 Gb/s)
  Bytes mtu{4096};            // payload of one packet
  double node_cable_metres = 3;
  double spine_cable_metres = 30;
  Topology topology;
  double oversubscription = 1;       // downlinks over uplinks of a leaf
  Duration switch_latency{200'000};  // first bit in until first bit out
  Bytes vl_buffer{64 * 1024};        // receive buffer of a port and lane; 0: no limit
  Duration credit_return{300'000};   // both ends' handling of a credit update, cables apart
  Bytes switch_buffer{};             // RoCE: shared by all ports of a switch
  PauseSettings pause;               // RoCE
  CongestionControl congestion;      // RoCE
  Routing routing = Routing::kStatic;
  // RoCE: what is sent goes by a priority that is not the lossless one
  // (communication.traffic_class).
  bool lossy_class = false;
  // Headers beside those that every packet of the kind has: on Ethernet a VLAN tag, of RoCE IPv6 in
  // the place of IPv4, on InfiniBand a global route header, as between subnets.
  bool vlan = false;
  bool ipv6 = false;
  bool grh = false;
  // What is sent goes by TCP (communication.transport), over InfiniBand as IPoIB, and `mtu` is what
  // a packet carries of it. Its congestion control is taken to be perfect: nothing is lost, and
  // Ethernet switches hold whatever comes.
  std::optional<TcpSettings> tcp = {};
  // Ports drop what their buffers cannot hold, and pause nobody.
  bool drops() const { return kind == NetworkKind::kRoce && (!pause.on || lossy_class); }
};

struct Cluster {
  int nodes = 1;
  Node node;
  Network network;
  int ranks_per_node = 1;
  ThreadPlacement threads = {};  // communication.thread_placement
  Faults faults;
  int ranks() const { return nodes * ranks_per_node; }
  // Among all GPUs of the cluster; and back, of a GPU that takes part.
  int gpu_of(int rank) const {
    return rank / ranks_per_node * node.gpu_count + rank % ranks_per_node;
  }
  int rank_of(int gpu) const {
    return gpu / node.gpu_count * ranks_per_node + gpu % node.gpu_count;
  }
};

}  // namespace gradhaul
