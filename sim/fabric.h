#pragma once

// The model: what links there are, what guards them, and which links a transfer crosses. Defined
// once, built from a Cluster, read by every engine and by the analytic fidelity.
// Nothing here changes while a simulation runs.
//
// A link is one direction. Its transmitter serialises at `rate`; the first bit can leave the next
// link `latency` later (cut-through: propagation and forwarding together). A link is guarded by
// credits of up to three classes, or by nothing. What crosses a link is a train: the units of one
// packet, without gaps. On PCIe a unit is a TLP, elsewhere the packet itself.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/ecmp.h"
#include "core/quantities.h"

namespace gradhaul {

using LinkId = std::int32_t;
using ResourceId = std::int32_t;
inline constexpr LinkId kNoLink = -1;
inline constexpr ResourceId kNoResource = -1;

// What a user knows a part of the cluster by: "node0.nic0". Both directions of a wire are one.
struct Resource {
  std::string name;
  std::string kind;  // as in ResourceUse
};

enum class LinkKind : std::uint8_t {
  kPcie,
  kRootComplex,  // the limit of peer-to-peer through a root complex, or across sockets: payload
                 // only
  kInfiniband,
  kIdeal,
  kNvlink,
  kEthernet,
  kHostMemory,  // a socket's memory, and its translation of addresses: payload only
};
// With packets and buffers, as ideal networks have none.
constexpr bool is_packet_network(LinkKind kind) {
  return kind == LinkKind::kInfiniband || kind == LinkKind::kEthernet;
}

// PCIe's three kinds of flow control; all of an InfiniBand lane is kPosted.
enum class TrafficClass : std::uint8_t { kPosted, kNonPosted, kCompletion };
inline constexpr int kTrafficClasses = 3;

// A lossless Ethernet receiver's buffer for what comes by one link, in wire bytes, and the way of
// its pause frames back to the transmitter (core/cluster.h, PauseSettings).
struct PauseRules {
  Bytes xoff;
  Bytes xon;
  Bytes headroom;
  double alpha = 0;          // above 0: thresholds are a share of what is free of the pool
  std::int32_t pool = -1;    // alpha: the switch whose ports share a buffer
  Bytes shared;              // alpha: the size of that, beside all headroom
  Duration cable;            // one way
  Duration response;         // of the transmitter
  LinkId reverse = kNoLink;  // by which pause frames go
  bool heeded = true;        // by the transmitter
  bool spills = false;       // the headroom may not suffice: then frames are dropped
  bool lossless() const { return headroom.count > 0; }
  friend bool operator==(const PauseRules&, const PauseRules&) = default;
};

// Where Ethernet ports drop what does not fit (sim/dropping_buffers.h), in wire bytes.
struct DropRules {
  std::int32_t pool = -1;  // the switch that sends on the link
  Bytes shared;            // the size of its buffer
  double alpha = 0;        // above 0: a queue gets no more than this times what is free
  Bytes receive;           // above 0: the buffer of the NIC at the far end
  bool any() const { return pool >= 0 || receive.count > 0; }
  friend bool operator==(const DropRules&, const DropRules&) = default;
};

// While a link is down, what is on it is lost.
struct Outage {
  Duration from;
  Duration until;
};

struct Link {
  std::string name;  // "node0.nic0.pcie.up"; links are numbered in the order of their names
  LinkKind kind = LinkKind::kPcie;
  ResourceId resource = kNoResource;
  BitRate rate = kUnlimited;
  Duration latency;
  // Credits of the receiver at the far end, by class: TLPs on PCIe, 64-byte blocks on InfiniBand;
  // 0: none needed.
  std::int64_t window[kTrafficClasses] = {0, 0, 0};
  // PCIe: a TLP's credit is back this long after the TLP left, if the far end passed it on at once.
  // InfiniBand: a packet's credits are back this long after its last bit left the far end's buffer.
  Duration credit_return;
  PauseRules pause;      // Ethernet
  DropRules drop;        // Ethernet
  bool marks = false;    // sent by an Ethernet switch that marks packets (ECN)
  std::string port;      // counters are shown under this name ("leaf0:3"); empty: none
  bool network = false;  // a wire of the network: waiting for credits counts as xmit_wait
  // What garbles or swallows packets (core/faults.h).
  double bit_error_rate = 0;
  std::vector<Outage> outages;
  std::vector<Outage> storms;  // while the NIC at the far end has it pause, whatever comes
  bool loses() const { return bit_error_rate > 0 || !outages.empty(); }
};

// One link of a route, with the form a transfer has on it.
struct RouteHop {
  LinkId link = kNoLink;
  Bytes unit;      // payload of a unit; 0: the packet is one unit
  Bytes overhead;  // beside the payload, each unit
  int copy = 0;    // of the link, counted from where the flow is (sim/copies.h)
};

using Route = std::vector<RouteHop>;

class Fabric {
 public:
  // Requires a checked cluster (scenarios/validation.h) with its topology sized.
  explicit Fabric(const Cluster& cluster);

  const Cluster& cluster() const { return cluster_; }
  const std::vector<Link>& links() const { return links_; }
  const std::vector<Resource>& resources() const { return resources_; }
  // The other direction of a wire of the network.
  LinkId reverse_of(const Link& link) const;
  const Link& link(LinkId id) const { return links_[static_cast<std::size_t>(id)]; }

  // How a NIC reaches a GPU's memory. Empty where no PCIe is in the way, it then takes no time; or
  // where there is PCIe but sockets pass no peer-to-peer between them.
  Route dma_request(int node, int nic, int gpu) const;     // NIC to GPU: read requests
  Route dma_completion(int node, int nic, int gpu) const;  // GPU to NIC: completions with data
  Route dma_write(int node, int nic, int gpu) const;       // NIC to GPU: posted writes

  // How a device ("gpu0", "nic3") reaches the memory of a socket; never empty where there is PCIe.
  Route host_write(int node, const std::string& device, int socket) const;
  Route host_request(int node, const std::string& device, int socket) const;
  Route host_completion(int node, const std::string& device, int socket) const;
  // The socket whose memory holds what a GPU sends and receives where it is staged: that of its
  // communication thread, which runs at the GPU's own socket unless it is bound elsewhere.
  int host_socket(int node, int gpu) const;
  // From there to the GPU and its NICs and back, each way: nothing at the GPU's own socket.
  Duration thread_detour(int node, int gpu) const;
  ResourceId socket_link_resource(int node) const;

  // From NIC to NIC of different nodes, the sender's wire first. Empty where there is no path
  // (rails that do not meet). `udp_source_port`: of the queue pair, where ECMP looks at it.
  Route wire(int source_node, int source_nic, int destination_node, int destination_nic,
             std::uint16_t udp_source_port = 0) const;
  // Where switches choose for each packet, all ways from the first uplink of the leaf to the last,
  // each down by the cable of its own number; ways i and i + `spines` pass the same spine.
  // Elsewhere the one that wire() says, or none.
  std::vector<Route> ways(int source_node, int source_nic, int destination_node,
                          int destination_nic, std::uint16_t udp_source_port = 0) const;
  // From GPU to GPU of one node, over NVLink or else as posted writes over PCIe. Empty where
  // neither leads there.
  Route peer(int node, int source_gpu, int destination_gpu) const;

  // The place of each link among all in the order in which links are looked at within an instant:
  // by name without its numbers ("node.gpu.pcie.up"), then by number. Links between which packets
  // pass are mostly of different names, so that this order is the same in parts that are alike.
  std::vector<std::int32_t> turns() const;

  // What one channel's reduce or copy kernel takes in on this GPU.
  BitRate reduce_rate(int node, int gpu) const;
  ResourceId reduce_resource(int node, int gpu) const;
  ResourceId memory_resource(int node, int gpu) const;
  // The cores of the host that carry a rank's TCP; kNoResource where it has none.
  ResourceId thread_resource(int node, int gpu) const;
  // A copy by a core from one place of a socket's memory to another.
  Route host_copy(int node, int socket) const;

 private:
  enum class Transfer : std::uint8_t { kRequest, kCompletion, kWrite };
  class PcieWalk;
  void add_node_pcie(int node);
  void add_device_link(int node, const std::string& device, const PcieBranch& branch);
  void add_root_complexes(int node);
  void add_host_memory(int node, int socket);
  void add_translation(int node, const std::string& port, const std::string& socket);
  void add_payload_link(int node, const std::string& name, const std::string& owner,
                        const char* kind, BitRate rate, Duration latency);
  void add_nvlink(int node);
  void add_network();
  void add_leaf_ring(std::vector<int>& ports);
  // `into_nic`: the one at its far end; empty: a switch.
  Link wire_link(const std::string& name, double metres, Duration forwarding,
                 const std::string& into_nic) const;
  PauseRules pause_rules(const Link& link, double metres, bool into_nic) const;
  void set_buffer_rules(Link& link, double metres, const std::string& into_nic) const;
  void set_pause_ways();
  void set_drop_pools();
  struct Ways {
    int spine;
    int cable_up;
    int cable_down;
  };
  Ways ways_between(int leaf, const FlowAddress& address) const;
  std::vector<std::string> links_round(int from, int to, const FlowAddress& address) const;
  Route wire_by(const FlowAddress& address, std::optional<int> uplink) const;
  ResourceId resource(const std::string& name, const std::string& kind);
  void number_links();
  LinkId find(const std::string& name) const;
  Route device_route(int node, const std::string& from, const std::string& to,
                     Transfer transfer) const;
  Route host_route(int node, const std::string& device, int socket, Transfer transfer) const;

  Cluster cluster_;
  std::vector<Link> links_;
  std::vector<Resource> resources_;
  std::map<std::string, LinkId> by_name_;
  std::map<std::string, ResourceId> resource_by_name_;
};

}  // namespace gradhaul
