// The PCIe tree and NVLink of a node as links, and the routes through them.
//
// A device reaches another by going up to the lowest element above both, a switch or a socket's
// root complex, or over the socket link, and down again; with ACS always up to a root complex.
// Where a root complex (or the pair of sockets) limits peer-to-peer, a link of its own with that
// rate stands in the way. Host memory is reached through its socket's root complex and a link that
// reads and writes of all devices share.
//
// With strict ordering, writes of a device pass its root complex one after the other: a 200 Gb/s
// NIC on AMD EPYC reached 150 Gb/s so, and all of it with relaxed ordering (UCX pull request 8062).
// An IOMMU that misses its IOTLB takes 330 ns (Neugebauer et al., SIGCOMM 2018), and of 200 Gb/s up
// to a fifth was lost that way; how many misses it handles at a time is an estimate.

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/cluster_parts.h"
#include "core/pcie_framing.h"
#include "sim/fabric.h"
#include "sim/pcie_tree.h"

namespace gradhaul {
namespace {

std::string name_of(int node) { return "node" + std::to_string(node); }
std::string name_of(int node, const std::string& part) { return name_of(node) + "." + part; }

// A link of the tree: guarded by the credits of what it leads into.
Link pcie_link(const Node& node, PcieLink width, const std::string& into) {
  const PcieSettings& settings = node.pcie_settings;
  Link link;
  link.kind = LinkKind::kPcie;
  link.rate = pcie_rate(width, settings.dllp_overhead);
  link.latency = kPcieLinkLatency;
  link.credit_return = settings.credit_loop;
  const std::int64_t window = credit_window(settings.posted_header_credits,
                                            settings.posted_data_credits, settings.max_payload);
  link.window[static_cast<int>(TrafficClass::kPosted)] = window;
  link.window[static_cast<int>(TrafficClass::kNonPosted)] = kNonPostedHeaderCredits;
  // Endpoints and root complexes advertise infinite completion credits [PCIe Base 5.0, 2.6.1].
  if (is_socket(into)) {
    link.latency += node.root_complex.latency;
  } else if (!into.empty()) {
    link.latency += kPcieSwitchLatency;
    link.window[static_cast<int>(TrafficClass::kCompletion)] = window;
  }
  // What comes back at the earliest: a credit update that sets out as the TLP goes on.
  link.credit_return = std::max(link.credit_return, link.latency + kPcieLinkLatency);
  return link;
}

// Of a link that leads down: what a root complex answers comes in its pieces, and with ACS what
// peers send has come through one, too.
void count_pieces(const Node& node, Link& down) {
  const PcieSettings& settings = node.pcie_settings;
  const RootComplex& root = node.root_complex;
  const Bytes split = std::min(settings.max_payload, root.tlp_split.value_or(settings.max_payload));
  const auto window = [&](Bytes piece) {
    return credit_window(settings.posted_header_credits, settings.posted_data_credits, piece);
  };
  std::int64_t& completions = down.window[static_cast<int>(TrafficClass::kCompletion)];
  if (completions > 0) completions = window(std::min(settings.max_payload, root.read_completion));
  if (settings.acs) down.window[static_cast<int>(TrafficClass::kPosted)] = window(split);
}

}  // namespace

void Fabric::add_device_link(int node, const std::string& device, const PcieBranch& branch) {
  const Node& model = cluster_.node;
  const std::optional<PcieLink> own = device_link(model, device);
  GRADHAUL_ASSERT(own.has_value(), "a device of the PCIe tree has a PCIe link");
  const std::string above = branch.switch_name.empty() ? branch.parent : branch.switch_name;
  const std::string name = name_of(node, device) + ".pcie";
  const PcieLink width = trained_link(cluster_.faults, name, *own);
  Link up = pcie_link(model, width, above);
  up.name = name + ".up";
  up.resource = resource(name, "pcie");
  Link down = pcie_link(model, width, "");
  count_pieces(model, down);
  down.name = name + ".down";
  down.resource = up.resource;
  links_.push_back(up);
  links_.push_back(down);
}

void Fabric::add_node_pcie(int node) {
  const Node& model = cluster_.node;
  for (const PcieBranch& branch : model.pcie) {
    for (const std::string& device : branch.devices) add_device_link(node, device, branch);
    if (branch.switch_name.empty()) continue;
    GRADHAUL_ASSERT(branch.link.has_value(), "a PCIe switch has an uplink");
    const std::string name = name_of(node, branch.switch_name);
    const PcieLink width = trained_link(cluster_.faults, name, *branch.link);
    Link up = pcie_link(model, width, branch.parent);
    up.name = name + ".up";
    up.resource = resource(name, "pcie_uplink");
    Link down = pcie_link(model, width, branch.switch_name);
    count_pieces(model, down);
    down.name = name + ".down";
    down.resource = up.resource;
    links_.push_back(up);
    links_.push_back(down);
  }
  if (!model.pcie.empty()) add_root_complexes(node);
}

// A link that serialises payload alone, and is guarded by nothing.
void Fabric::add_payload_link(int node, const std::string& name, const std::string& owner,
                              const char* kind, BitRate rate, Duration latency) {
  Link link;
  link.name = name_of(node, name);
  link.kind = LinkKind::kRootComplex;
  link.resource = resource(name_of(node, owner), kind);
  link.rate = rate;
  link.latency = latency;
  links_.push_back(link);
}

void Fabric::add_root_complexes(int node) {
  const Node& model = cluster_.node;
  std::set<std::string> translating;
  for (int socket = 0; socket < model.sockets; ++socket) {
    const std::string name = "socket" + std::to_string(socket);
    const RootComplex& root = model.root_complex;
    add_payload_link(node, name + ".peer_read", name, "socket", root.peer_to_peer_read, {});
    add_payload_link(node, name + ".peer_write", name, "socket", root.peer_to_peer_write, {});
    for (int other = 0; other < model.sockets; ++other) {
      if (other == socket) continue;
      const std::string pair = std::to_string(socket) + "-" + std::to_string(other);
      add_payload_link(node, "socket_link." + pair, "socket_link", "socket_link",
                       model.socket_link.bandwidth, model.socket_link.latency);
      if (root.peer_to_peer_across_sockets == BitRate{0}) continue;
      add_payload_link(node, "socket_link.peer." + pair, "socket_link", "socket_link",
                       root.peer_to_peer_across_sockets, {});
    }
    add_host_memory(node, socket);
  }
  for (const PcieBranch& branch : model.pcie) {
    for (const std::string& device : branch.devices) {
      const std::vector<std::string> above = elements_above(model, device);
      const std::string port = root_port(device, above);
      if (!model.pcie_settings.relaxed_ordering) {
        add_payload_link(node, device + ".ordered", device + ".ordered", "ordered_writes",
                         model.pcie_settings.ordered_writes, {});
      }
      if (model.pcie_settings.iommu && translating.insert(port).second) {
        add_translation(node, port, above.back());
      }
    }
  }
}

void Fabric::add_host_memory(int node, int socket) {
  const std::string name = "socket" + std::to_string(socket);
  add_payload_link(node, name + ".memory", name, "socket", cluster_.node.host_memory_bandwidth, {});
  links_.back().kind = LinkKind::kHostMemory;
}

// What is sent page after page misses the IOTLB of its root port once a page: on average a packet
// waits for its share of that, and so many walks at a time bring their pages. A socket's root ports
// are one resource, which is not its root complex: another cause, with another remedy.
void Fabric::add_translation(int node, const std::string& port, const std::string& socket) {
  const PcieSettings& settings = cluster_.node.pcie_settings;
  const std::int64_t packet = std::min(cluster_.network.mtu.count, settings.iotlb_page.count);
  const Duration share{settings.iotlb_miss.ps * packet / settings.iotlb_page.count};
  const std::string iommu = socket + ".iommu";
  add_payload_link(node, port + ".iommu", iommu, "iommu", kUnlimited, share);
  const Int128 bits = Int128{settings.iotlb_page.count} * 8 * settings.page_walks;
  const BitRate walks{static_cast<std::int64_t>(bits * 1'000'000'000'000 / settings.iotlb_miss.ps)};
  add_payload_link(node, port + ".page_walks", iommu, "iommu", walks, {});
  links_.back().kind = LinkKind::kHostMemory;
}

void Fabric::add_nvlink(int node) {
  const Nvlink& nvlink = *cluster_.node.nvlink;
  for (int gpu = 0; gpu < cluster_.node.gpu_count; ++gpu) {
    const std::string name = name_of(node, "gpu" + std::to_string(gpu) + ".nvlink");
    Link out;
    out.name = name + ".out";
    out.kind = LinkKind::kNvlink;
    out.resource = resource(name, "nvlink");
    const BitRate nominal = trained_rate(cluster_.faults, name, nvlink.bandwidth);
    const double effective = static_cast<double>(nominal.bits_per_second) * nvlink.efficiency;
    out.rate = nominal.unlimited() ? kUnlimited : BitRate{std::llround(effective)};
    out.latency = nvlink.latency;
    Link in = out;
    in.name = name + ".in";
    in.latency = {};
    links_.push_back(out);
    links_.push_back(in);
  }
}

// Puts a route together, link by link, each with the form that the transfer has there.
class Fabric::PcieWalk {
 public:
  PcieWalk(const Fabric& fabric, int node, Transfer transfer)
      : fabric_(fabric),
        settings_(fabric.cluster().node.pcie_settings),
        node_(node),
        transfer_(transfer) {
    form_.unit = transfer == Transfer::kRequest ? Bytes{} : settings_.max_payload;
    form_.overhead = transfer == Transfer::kCompletion ? kCompletionOverhead
                     : transfer == Transfer::kWrite    ? kPostedOverhead
                                                       : kReadRequestBytes;
  }
  void cross(const std::string& link) {
    RouteHop hop = form_;
    hop.link = fabric_.find(name_of(node_, link));
    route_.push_back(hop);
  }
  // One that serialises payload alone; where that takes no time, there is none.
  void cross_payload(const std::string& name, bool even_if_free = false) {
    RouteHop hop = form_;
    hop.link = fabric_.find(name_of(node_, name));
    hop.overhead = {};
    const Link& link = fabric_.link(hop.link);
    const bool free = link.rate.unlimited() && link.latency.ps == 0;
    if (!free || even_if_free) route_.push_back(hop);
  }
  // From here on in pieces of this size, unless they are smaller already.
  void split(Bytes piece) {
    if (transfer_ != Transfer::kRequest) form_.unit = std::min(form_.unit, piece);
  }
  // Up from a device past so many switches.
  void climb(const std::string& device, const std::vector<std::string>& above, std::size_t ups) {
    cross(device + ".pcie.up");
    for (std::size_t i = 0; i < ups; ++i) cross(above[i] + ".up");
  }
  void descend(const std::string& device, const std::vector<std::string>& above,
               std::size_t downs) {
    for (std::size_t i = downs; i-- > 0;) cross(above[i] + ".down");
    cross(device + ".pcie.down");
  }
  // Into a root complex, of what `device` sends.
  void enter_root(const std::string& device, const std::vector<std::string>& above) {
    if (transfer_ == Transfer::kWrite && !settings_.relaxed_ordering) {
      cross_payload(device + ".ordered");
    }
    if (!settings_.iommu) return;
    const std::string port = root_port(device, above);
    if (transfer_ != Transfer::kCompletion) cross_payload(port + ".iommu");
    if (transfer_ != Transfer::kRequest) cross_payload(port + ".page_walks");
  }
  void cross_sockets(const std::string& from, const std::string& to) {
    cross_payload("socket_link." + from.substr(6) + "-" + to.substr(6));
  }
  bool carries_payload() const { return transfer_ != Transfer::kRequest; }
  Route take() { return std::move(route_); }

 private:
  const Fabric& fabric_;
  const PcieSettings& settings_;
  int node_;
  Transfer transfer_;
  RouteHop form_;
  Route route_;
};

Route Fabric::device_route(int node, const std::string& from, const std::string& to,
                           Transfer transfer) const {
  const Node& model = cluster_.node;
  if (model.pcie.empty()) return {};
  const std::vector<std::string> up = elements_above(model, from);
  const std::vector<std::string> down = elements_above(model, to);
  // The lowest element above both, or two different sockets; with ACS no switch turns anything.
  std::size_t ups = model.pcie_settings.acs ? up.size() - 1 : 0;
  while (ups + 1 < up.size() && std::find(down.begin(), down.end(), up[ups]) == down.end()) ++ups;
  const auto meeting = std::find(down.begin(), down.end(), up[ups]);
  const bool across = meeting == down.end();
  const bool allowed_across = model.root_complex.peer_to_peer_across_sockets > BitRate{0};
  if (across && !allowed_across) return {};
  const std::size_t downs = across ? down.size() - 1 : meeting - down.begin();
  PcieWalk walk(*this, node, transfer);
  walk.climb(from, up, ups);
  if (is_socket(up[ups])) {
    if (model.root_complex.tlp_split) walk.split(*model.root_complex.tlp_split);
    walk.enter_root(from, up);
    if (walk.carries_payload()) {
      walk.cross_payload(up[ups] + (transfer == Transfer::kWrite ? ".peer_write" : ".peer_read"));
    }
    if (across) {
      walk.cross_sockets(up[ups], down[downs]);
      if (walk.carries_payload()) {
        walk.cross_payload("socket_link.peer." + up[ups].substr(6) + "-" + down[downs].substr(6));
      }
    }
  }
  walk.descend(to, down, downs);
  return walk.take();
}

Route Fabric::dma_request(int node, int nic, int gpu) const {
  return device_route(node, "nic" + std::to_string(nic), "gpu" + std::to_string(gpu),
                      Transfer::kRequest);
}

Route Fabric::dma_completion(int node, int nic, int gpu) const {
  return device_route(node, "gpu" + std::to_string(gpu), "nic" + std::to_string(nic),
                      Transfer::kCompletion);
}

Route Fabric::dma_write(int node, int nic, int gpu) const {
  return device_route(node, "nic" + std::to_string(nic), "gpu" + std::to_string(gpu),
                      Transfer::kWrite);
}

Route Fabric::host_write(int node, const std::string& device, int socket) const {
  return host_route(node, device, socket, Transfer::kWrite);
}

Route Fabric::host_request(int node, const std::string& device, int socket) const {
  return host_route(node, device, socket, Transfer::kRequest);
}

// Towards the memory; a read request needs nothing of its bandwidth.
Route Fabric::host_route(int node, const std::string& device, int socket, Transfer transfer) const {
  if (cluster_.node.pcie.empty()) return {};
  const std::vector<std::string> above = elements_above(cluster_.node, device);
  const std::string memory = "socket" + std::to_string(socket);
  PcieWalk walk(*this, node, transfer);
  walk.climb(device, above, above.size() - 1);
  walk.enter_root(device, above);
  if (above.back() != memory) walk.cross_sockets(above.back(), memory);
  if (walk.carries_payload()) walk.cross_payload(memory + ".memory", true);
  return walk.take();
}

Route Fabric::host_completion(int node, const std::string& device, int socket) const {
  const Node& model = cluster_.node;
  if (model.pcie.empty()) return {};
  const std::vector<std::string> above = elements_above(model, device);
  const std::string memory = "socket" + std::to_string(socket);
  PcieWalk walk(*this, node, Transfer::kCompletion);
  walk.split(model.root_complex.read_completion);
  walk.cross_payload(memory + ".memory", true);
  if (above.back() != memory) walk.cross_sockets(memory, above.back());
  walk.enter_root(device, above);
  walk.descend(device, above, above.size() - 1);
  return walk.take();
}

int Fabric::host_socket(int node, int gpu) const {
  const Node& model = cluster_.node;
  if (model.pcie.empty()) return 0;
  const int own = socket_number(elements_above(model, "gpu" + std::to_string(gpu)).back());
  const int meant = cluster_.threads.socket_for(own, model.sockets);
  return has_far_threads(cluster_.faults, node) ? (meant + 1) % model.sockets : meant;
}

Duration Fabric::thread_detour(int node, int gpu) const {
  const Node& model = cluster_.node;
  if (model.pcie.empty()) {
    return has_far_threads(cluster_.faults, node) ? model.socket_link.latency : Duration{};
  }
  const int own = socket_number(elements_above(model, "gpu" + std::to_string(gpu)).back());
  return host_socket(node, gpu) == own ? Duration{} : model.socket_link.latency;
}

ResourceId Fabric::socket_link_resource(int node) const {
  const auto found = resource_by_name_.find(name_of(node, "socket_link"));
  return found == resource_by_name_.end() ? kNoResource : found->second;
}

Route Fabric::host_copy(int node, int socket) const {
  RouteHop memory;
  memory.link = find(name_of(node, "socket" + std::to_string(socket) + ".memory"));
  return {memory};
}

Route Fabric::peer(int node, int source_gpu, int destination_gpu) const {
  const std::string source = "gpu" + std::to_string(source_gpu);
  const std::string destination = "gpu" + std::to_string(destination_gpu);
  if (!cluster_.node.nvlink) return device_route(node, source, destination, Transfer::kWrite);
  RouteHop out;
  out.link = find(name_of(node, source + ".nvlink.out"));
  RouteHop in;
  in.link = find(name_of(node, destination + ".nvlink.in"));
  return {out, in};
}

}  // namespace gradhaul
