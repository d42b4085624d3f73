// The PCIe tree and NVLink of a node as links, and the routes through them.
//
// A device reaches another by going up to the lowest element above both, a switch or a socket's
// root complex, or over the socket link, and down again. Where a root complex (or the pair of
// sockets) limits peer-to-peer, a link of its own with that rate stands in the way.

#include <algorithm>
#include <cmath>

#include "core/cluster_parts.h"
#include "core/pcie_framing.h"
#include "sim/fabric.h"

namespace gradhaul {
namespace {

std::string name_of(int node) { return "node" + std::to_string(node); }
std::string name_of(int node, const std::string& part) { return name_of(node) + "." + part; }

const PcieBranch* branch_of_device(const Node& node, const std::string& device) {
  for (const PcieBranch& branch : node.pcie) {
    if (std::find(branch.devices.begin(), branch.devices.end(), device) != branch.devices.end()) {
      return &branch;
    }
  }
  return nullptr;
}

const PcieBranch* branch_of_switch(const Node& node, const std::string& name) {
  for (const PcieBranch& branch : node.pcie) {
    if (!branch.switch_name.empty() && branch.switch_name == name) return &branch;
  }
  return nullptr;
}

// What lies above a device, nearest first: switches, then the socket.
std::vector<std::string> elements_above(const Node& node, const std::string& device) {
  std::vector<std::string> above;
  const PcieBranch* branch = branch_of_device(node, device);
  GRADHAUL_ASSERT(branch != nullptr, "every device hangs somewhere in the PCIe tree");
  std::string next = branch->switch_name.empty() ? branch->parent : branch->switch_name;
  while (true) {
    above.push_back(next);
    const PcieBranch* above_it = branch_of_switch(node, next);
    if (above_it == nullptr) return above;
    next = above_it->parent;
  }
}

bool is_socket(const std::string& element) { return element.rfind("socket", 0) == 0; }

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
  return link;
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
    down.name = name + ".down";
    down.resource = up.resource;
    links_.push_back(up);
    links_.push_back(down);
  }
  if (!model.pcie.empty()) add_root_complexes(node);
}

void Fabric::add_root_complexes(int node) {
  const Node& model = cluster_.node;
  const auto limit = [&](const std::string& name, const std::string& owner, const char* kind,
                         BitRate rate, Duration latency) {
    Link link;
    link.name = name_of(node, name);
    link.kind = LinkKind::kRootComplex;
    link.resource = resource(name_of(node, owner), kind);
    link.rate = rate;
    link.latency = latency;
    links_.push_back(link);
  };
  for (int socket = 0; socket < model.sockets; ++socket) {
    const std::string name = "socket" + std::to_string(socket);
    limit(name + ".peer_read", name, "socket", model.root_complex.peer_to_peer_read, {});
    limit(name + ".peer_write", name, "socket", model.root_complex.peer_to_peer_write, {});
    for (int other = 0; other < model.sockets; ++other) {
      if (other == socket) continue;
      const std::string pair = std::to_string(socket) + "-" + std::to_string(other);
      limit("socket_link." + pair, "socket_link", "socket_link", model.socket_link.bandwidth,
            model.socket_link.latency);
      if (model.root_complex.peer_to_peer_across_sockets == BitRate{0}) continue;
      limit("socket_link.peer." + pair, "socket_link", "socket_link",
            model.root_complex.peer_to_peer_across_sockets, {});
    }
  }
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

Route Fabric::device_route(int node, const std::string& from, const std::string& to,
                           Transfer transfer) const {
  const Node& model = cluster_.node;
  if (model.pcie.empty()) return {};
  const std::vector<std::string> up = elements_above(model, from);
  const std::vector<std::string> down = elements_above(model, to);
  RouteHop form;
  form.unit = transfer == Transfer::kRequest ? Bytes{} : model.pcie_settings.max_payload;
  form.overhead = transfer == Transfer::kCompletion ? kCompletionOverhead
                  : transfer == Transfer::kWrite    ? kPostedOverhead
                                                    : kReadRequestBytes;
  Route route;
  const auto add = [&](const std::string& name, bool payload_only) {
    RouteHop hop = form;
    hop.link = find(name_of(node, name));
    if (payload_only) hop.overhead = {};
    if (payload_only && link(hop.link).rate.unlimited() && link(hop.link).latency.ps == 0) return;
    route.push_back(hop);
  };
  // The lowest element above both, or two different sockets.
  std::size_t ups = 0;
  while (ups + 1 < up.size() && std::find(down.begin(), down.end(), up[ups]) == down.end()) ++ups;
  const auto meeting = std::find(down.begin(), down.end(), up[ups]);
  const bool across = meeting == down.end();
  const bool allowed_across = model.root_complex.peer_to_peer_across_sockets > BitRate{0};
  if (across && !allowed_across) return {};
  const std::size_t downs = across ? down.size() - 1 : meeting - down.begin();
  add(from + ".pcie.up", false);
  for (std::size_t i = 0; i < ups; ++i) add(up[i] + ".up", false);
  if (is_socket(up[ups])) {
    if (model.root_complex.tlp_split && transfer != Transfer::kRequest) {
      form.unit = std::min(form.unit, *model.root_complex.tlp_split);
    }
    if (transfer != Transfer::kRequest) {
      const char* limit = transfer == Transfer::kWrite ? ".peer_write" : ".peer_read";
      add(up[ups] + limit, true);
    }
    if (across) {
      const std::string pair = up[ups].substr(6) + "-" + down[downs].substr(6);
      add("socket_link." + pair, true);
      if (transfer != Transfer::kRequest) add("socket_link.peer." + pair, true);
    }
  }
  for (std::size_t i = downs; i-- > 0;) add(down[i] + ".down", false);
  add(to + ".pcie.down", false);
  return route;
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
