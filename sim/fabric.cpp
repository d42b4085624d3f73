#include "sim/fabric.h"

#include <algorithm>
#include <utility>

#include "core/leaf_ring.h"
#include "core/network_framing.h"
#include "core/packet_loss.h"
#include "core/pause_headroom.h"
#include "core/topology_size.h"

namespace gradhaul {
namespace {

std::string nic_name(int node, int nic) {
  return "node" + std::to_string(node) + ".nic" + std::to_string(nic);
}
// The wires of a bonded NIC, one for each of its ports; of others the NIC's own.
constexpr int kBondedPorts = 2;
std::string port_name(int node, int nic, int port) {
  return nic_name(node, nic) + ".port" + std::to_string(port);
}
// Apart from those of switches.
constexpr std::uint64_t kHashOfBonds = 1'000'000'000;

std::string leaf_name(int leaf) { return "leaf" + std::to_string(leaf); }
void add_losses(const Faults& faults, const std::string& name, Link& link) {
  link.bit_error_rate = std::max(link.bit_error_rate, bit_error_rate(faults, name));
  for (const LinkDown& fault : outages(faults, name)) {
    link.outages.push_back({fault.at, fault.lasts ? fault.at + *fault.lasts : Duration{INT64_MAX}});
  }
}

std::string cable_name(int leaf, int spine, int cable) {
  return leaf_name(leaf) + "-spine" + std::to_string(spine) + "." + std::to_string(cable);
}

// Of a ring, to the leaf that follows.
std::string ring_link_name(int leaf, int leaves) {
  return leaf_name(leaf) + "-" + leaf_name((leaf + 1) % leaves);
}

}  // namespace

Fabric::Fabric(const Cluster& cluster) : cluster_(cluster) {
  for (int node = 0; node < cluster_.nodes; ++node) {
    add_node_pcie(node);
    if (cluster_.node.nvlink) add_nvlink(node);
    for (int gpu = 0; gpu < cluster_.node.gpu_count; ++gpu) {
      const std::string name = "node" + std::to_string(node) + ".gpu" + std::to_string(gpu);
      resource(name + ".reduce", "reduce");
      resource(name + ".memory", "memory");
      if (cluster_.network.tcp) resource(name + ".thread", "thread");
    }
  }
  if (cluster_.nodes > 1) add_network();
  number_links();
  if (cluster_.network.kind == NetworkKind::kRoce) {
    set_pause_ways();
    set_drop_pools();
  }
}

// A wire of the network, into something that forwards after `forwarding`.
Link Fabric::wire_link(const std::string& name, double metres, Duration forwarding,
                       const std::string& into_nic) const {
  const Network& network = cluster_.network;
  Link link;
  link.name = name;
  link.network = true;
  link.rate = std::min(network.link, cluster_.node.nic.rate);
  link.latency = cable_latency(metres) + forwarding;
  link.kind = LinkKind::kIdeal;
  if (network.kind == NetworkKind::kInfiniband) {
    link.kind = LinkKind::kInfiniband;
    const Bytes own = cluster_.node.nic.receive_buffer;
    const Bytes buffer = !into_nic.empty() && own.count > 0 ? own : network.vl_buffer;
    link.window[static_cast<int>(TrafficClass::kPosted)] =
        std::min(buffer.count / kCreditBlockBytes, kMaxCreditBlocks);
    link.credit_return = network.credit_return + cable_latency(metres);
  } else if (network.kind == NetworkKind::kRoce) {
    link.kind = LinkKind::kEthernet;
    set_buffer_rules(link, metres, into_nic);
  }
  return link;
}

void Fabric::add_network() {
  const Network& network = cluster_.network;
  const Topology& topology = network.topology;
  const int nics = cluster_.node.nic_count;
  const int ports_of_nic = cluster_.node.bonded_nics ? kBondedPorts : 1;
  const bool direct = topology.kind == TopologyKind::kBackToBack;
  std::vector<int> ports(static_cast<std::size_t>(std::max(1, topology.leaves)), 0);
  for (int node = 0; node < cluster_.nodes; ++node) {
    for (int port = 0; port < nics * ports_of_nic; ++port) {
      const int nic = port / ports_of_nic;
      const std::string name = cluster_.node.bonded_nics ? port_name(node, nic, port % ports_of_nic)
                                                         : nic_name(node, nic);
      Link out = wire_link(name + ".out", network.node_cable_metres,
                           direct ? Duration{} : network.switch_latency,
                           direct ? nic_name(1 - node, nic) : "");
      // What is wrong with a bonded NIC's link is wrong with both.
      const std::string fault = nic_name(node, nic);
      out.rate = trained_rate(cluster_.faults, fault, out.rate);
      out.resource = resource(name, "nic");
      out.port = name;
      add_losses(cluster_.faults, fault, out);
      // The other end of the same cable.
      if (direct) add_losses(cluster_.faults, nic_name(1 - node, nic), out);
      links_.push_back(out);
      if (direct) continue;
      const int leaf = leaf_of(topology, cluster_.nodes, nics, node, nic);
      Link in = wire_link(name + ".in", network.node_cable_metres, {}, fault);
      in.rate = out.rate;
      in.resource = out.resource;
      in.bit_error_rate = out.bit_error_rate;
      in.outages = out.outages;
      in.port = leaf_name(leaf) + ":" + std::to_string(++ports[static_cast<std::size_t>(leaf)]);
      links_.push_back(in);
    }
  }
  if (topology.kind == TopologyKind::kRing) return add_leaf_ring(ports);
  if (direct || topology.spines == 0) return;
  for (int leaf = 0; leaf < topology.leaves; ++leaf) {
    for (int spine = 0; spine < topology.spines; ++spine) {
      for (int cable = 0; cable < cables_per_spine(topology); ++cable) {
        const std::string name = cable_name(leaf, spine, cable);
        Link up = wire_link(name + ".up", network.spine_cable_metres, network.switch_latency, "");
        const std::string both = leaf_name(leaf) + "-spine" + std::to_string(spine);
        up.rate = trained_rate(cluster_.faults, both, network.link);
        up.resource = resource(both, "network");
        add_losses(cluster_.faults, both, up);
        up.port = leaf_name(leaf) + ":" + std::to_string(++ports[static_cast<std::size_t>(leaf)]);
        Link down = up;
        down.name = name + ".down";
        down.port = "spine" + std::to_string(spine) + ":" +
                    std::to_string(leaf * cables_per_spine(topology) + cable + 1);
        links_.push_back(up);
        links_.push_back(down);
      }
    }
  }
}

// `ports`: how many of each leaf are taken.
void Fabric::add_leaf_ring(std::vector<int>& ports) {
  const Network& network = cluster_.network;
  const int leaves = network.topology.leaves;
  const auto next_port = [&ports](int leaf) {
    return leaf_name(leaf) + ":" + std::to_string(++ports[static_cast<std::size_t>(leaf)]);
  };
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const std::string both = ring_link_name(leaf, leaves);
    for (int cable = 0; cable < cables_per_neighbour(network.topology); ++cable) {
      const std::string name = both + "." + std::to_string(cable);
      Link on =
          wire_link(name + ".clockwise", network.spine_cable_metres, network.switch_latency, "");
      on.rate = trained_rate(cluster_.faults, both, network.link);
      on.resource = resource(both, "network");
      add_losses(cluster_.faults, both, on);
      on.port = next_port(leaf);
      Link back = on;
      back.name = name + ".back";
      back.port = next_port((leaf + 1) % leaves);
      links_.push_back(on);
      links_.push_back(back);
    }
  }
}

Route Fabric::wire(int source_node, int source_nic, int destination_node, int destination_nic,
                   std::uint16_t udp_source_port) const {
  return wire_by({source_node, source_nic, destination_node, destination_nic, udp_source_port}, {});
}

std::vector<Route> Fabric::ways(int source_node, int source_nic, int destination_node,
                                int destination_nic, std::uint16_t udp_source_port) const {
  const FlowAddress address{source_node, source_nic, destination_node, destination_nic,
                            udp_source_port};
  std::vector<Route> ways{wire_by(address, {})};
  // Those behind one leaf have one way.
  if (!spreads_packets(cluster_) || ways.front().size() <= 2) return ways;
  ways.clear();
  for (int uplink = 0; uplink < cluster_.network.topology.uplinks_per_leaf; ++uplink) {
    ways.push_back(wire_by(address, uplink));
  }
  return ways;
}

// `uplink`: of the leaf; nothing: the one that routing chooses.
Route Fabric::wire_by(const FlowAddress& address, std::optional<int> uplink) const {
  const Topology& topology = cluster_.network.topology;
  const int nics = cluster_.node.nic_count;
  Route route;
  const auto add = [&](const std::string& name) {
    RouteHop hop;
    hop.link = find(name);
    hop.overhead = packet_overhead(cluster_.network);
    route.push_back(hop);
  };
  // The NIC hashes as the switch does, each for itself.
  const auto wire_of = [&](int node, int nic, std::uint64_t where) {
    if (!cluster_.node.bonded_nics) return nic_name(node, nic);
    return port_name(node, nic, ecmp_choice(address, kHashOfBonds + where, kBondedPorts));
  };
  add(wire_of(address.source_node, address.source_nic, 0) + ".out");
  if (topology.kind == TopologyKind::kBackToBack) {
    return address.source_nic == address.destination_nic ? route : Route{};
  }
  const int from = leaf_of(topology, cluster_.nodes, nics, address.source_node, address.source_nic);
  const int to =
      leaf_of(topology, cluster_.nodes, nics, address.destination_node, address.destination_nic);
  if (from != to && topology.kind == TopologyKind::kRing) {
    for (const std::string& link : links_round(from, to, address)) add(link);
  } else if (from != to) {
    if (topology.spines == 0) return {};
    Ways ways = ways_between(from, address);
    if (uplink) {
      const int cable = *uplink / topology.spines;
      ways = {*uplink % topology.spines, cable, cable};
    }
    add(cable_name(from, ways.spine, ways.cable_up) + ".up");
    add(cable_name(to, ways.spine, ways.cable_down) + ".down");
  }
  add(wire_of(address.destination_node, address.destination_nic, 1) + ".in");
  return route;
}

// Each leaf on the way chooses among its cables to the next.
std::vector<std::string> Fabric::links_round(int from, int to, const FlowAddress& address) const {
  const Topology& topology = cluster_.network.topology;
  const bool ecmp = cluster_.network.routing == Routing::kEcmp;
  const int leaves = topology.leaves;
  const std::vector<int> way = leaves_on_way(topology.way, leaves, from, to);
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < way.size(); ++i) {
    const int cable = ecmp ? ecmp_choice(address, static_cast<std::uint64_t>(way[i]),
                                         cables_per_neighbour(topology))
                           : ring_cable_of(topology, cluster_.nodes, cluster_.node.nic_count,
                                           address.destination_node, address.destination_nic);
    const bool clockwise = way[i + 1] == (way[i] + 1) % leaves;
    names.push_back(ring_link_name(clockwise ? way[i] : way[i + 1], leaves) + "." +
                    std::to_string(cable) + (clockwise ? ".clockwise" : ".back"));
  }
  return names;
}

// ECMP: the leaf chooses among all its uplinks, the spine among its cables to the other leaf.
Fabric::Ways Fabric::ways_between(int leaf, const FlowAddress& address) const {
  const Topology& topology = cluster_.network.topology;
  if (cluster_.network.routing == Routing::kEcmp) {
    const int uplink =
        ecmp_choice(address, static_cast<std::uint64_t>(leaf), topology.uplinks_per_leaf);
    const int spine = uplink % topology.spines;
    const int down = ecmp_choice(address, static_cast<std::uint64_t>(topology.leaves + spine),
                                 cables_per_spine(topology));
    return {spine, uplink / topology.spines, down};
  }
  const int nics = cluster_.node.nic_count;
  const int node = address.destination_node;
  const int nic = address.destination_nic;
  const int cable = cable_of(topology, cluster_.nodes, nics, node, nic);
  return {spine_of(topology, cluster_.nodes, nics, node, nic), cable, cable};
}

ResourceId Fabric::resource(const std::string& name, const std::string& kind) {
  const auto [place, added] =
      resource_by_name_.try_emplace(name, static_cast<ResourceId>(resources_.size()));
  if (added) resources_.push_back({name, kind});
  return place->second;
}

// In the order of their names, so that ties and digests do not depend on how the fabric was built.
void Fabric::number_links() {
  std::sort(links_.begin(), links_.end(),
            [](const Link& a, const Link& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < links_.size(); ++i) {
    by_name_[links_[i].name] = static_cast<LinkId>(i);
  }
  GRADHAUL_ASSERT(by_name_.size() == links_.size(), "no two links share a name");
}

LinkId Fabric::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  GRADHAUL_ASSERT(found != by_name_.end(), name);
  return found->second;
}

std::vector<std::int32_t> Fabric::turns() const {
  std::vector<std::pair<std::string, LinkId>> order;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    std::string shape = links_[i].name;
    std::erase_if(shape, [](char c) { return c >= '0' && c <= '9'; });
    order.emplace_back(std::move(shape), static_cast<LinkId>(i));
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int32_t> turns(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    turns[static_cast<std::size_t>(order[i].second)] = static_cast<std::int32_t>(i);
  }
  return turns;
}

BitRate Fabric::reduce_rate(int node, int gpu) const {
  return kernel_rate(cluster_.faults, node, gpu, cluster_.node.gpu.reduce_bandwidth);
}

ResourceId Fabric::reduce_resource(int node, int gpu) const {
  return resource_by_name_.at("node" + std::to_string(node) + ".gpu" + std::to_string(gpu) +
                              ".reduce");
}

ResourceId Fabric::thread_resource(int node, int gpu) const {
  const auto found = resource_by_name_.find("node" + std::to_string(node) + ".gpu" +
                                            std::to_string(gpu) + ".thread");
  return found == resource_by_name_.end() ? kNoResource : found->second;
}

ResourceId Fabric::memory_resource(int node, int gpu) const {
  return resource_by_name_.at("node" + std::to_string(node) + ".gpu" + std::to_string(gpu) +
                              ".memory");
}

}  // namespace gradhaul
