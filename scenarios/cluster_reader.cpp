#include "scenarios/cluster_reader.h"

#include <fmt/format.h>

#include "core/network_framing.h"
#include "core/pause_headroom.h"
#include "core/topology_size.h"
#include "scenarios/fault_reader.h"
#include "scenarios/network_reader.h"
#include "scenarios/node_reader.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kMostNodes = 65536;

void require(MappingReader& reader, std::string_view key, std::string_view folder) {
  if (!reader.has(key) && !reader.broken()) {
    reader.report(key,
                  fmt::format("\"{}\" is missing: a name in scenarios/{}, a path, or the mapping "
                              "itself",
                              key, folder));
  }
}

void check_ranks(MappingReader& reader, const Cluster& cluster) {
  if (cluster.ranks_per_node > cluster.node.gpu_count) {
    reader.report_together(
        {"ranks_per_node", "node", "node.gpus", "node.gpus.count"},
        fmt::format("ranks_per_node: {} ranks need a GPU each, and {} has {}",
                    cluster.ranks_per_node, cluster.node.name, cluster.node.gpu_count));
  }
  if (cluster.ranks() < 2) {
    reader.report_together({"nodes", "ranks_per_node", "node"},
                           "one rank alone has nobody to talk to; give it more nodes or more "
                           "ranks_per_node");
  }
}

void check_nics(MappingReader& reader, const Cluster& cluster) {
  const NicModel& nic = cluster.node.nic;
  const Network& network = cluster.network;
  if (network.link > nic.rate) {
    reader.report_together(
        {"network", "network.link", "node", "node.nics", "node.nics.model", "node.nics.model.rate"},
        fmt::format(
            "a link of {} is more than the port of {} runs at, {}; take a slower network or "
            "another NIC",
            format_rate(network.link), nic.name, format_rate(nic.rate)));
  }
  if (nic.transmit_buffer.count > 0 && nic.transmit_buffer < network.mtu) {
    reader.report_together(
        {"node", "node.nics.model", "node.nics.model.transmit_buffer", "network", "network.mtu"},
        fmt::format("the transmit_buffer of {}, {}B, never holds one packet of mtu {}B", nic.name,
                    nic.transmit_buffer.count, network.mtu.count));
  }
  const bool infiniband = network.kind == NetworkKind::kInfiniband;
  const Bytes packet = packet_buffer(network);
  if (infiniband && nic.receive_buffer.count > 0 && nic.receive_buffer < packet) {
    reader.report_together(
        {"node", "node.nics.model", "node.nics.model.receive_buffer", "network", "network.mtu"},
        fmt::format("the receive_buffer of {}, {}B, never holds one packet of mtu {}B with its "
                    "headers; at least {}B does",
                    nic.name, nic.receive_buffer.count, network.mtu.count, packet.count));
  }
}

// A NIC that names its buffer pauses its peer in time for all of the headroom to fit.
void check_lossless_nics(MappingReader& reader, const Cluster& cluster) {
  const Network& network = cluster.network;
  const Bytes own = cluster.node.nic.receive_buffer;
  if (network.kind != NetworkKind::kRoce || !network.pause.on || own.count == 0) return;
  const Bytes packet = largest_packet(network);
  const Bytes headroom = network.pause.headroom.value_or(
      pause_headroom(std::min(network.link, cluster.node.nic.rate), packet,
                     cable_latency(network.node_cable_metres), network.pause.response));
  if (own >= headroom + packet) return;
  reader.report_together(
      {"node", "node.nics.model", "node.nics.model.receive_buffer", "network",
       "network.flow_control", "network.flow_control.headroom"},
      fmt::format("the receive_buffer of {}, {}B, is less than the headroom of its port, {}B, and "
                  "one packet on the wire, {}B",
                  cluster.node.nic.name, own.count, headroom.count, packet.count));
}

// A bond takes a queue pair's packets by its UDP source port, both ways to one switch.
void check_bonds(MappingReader& reader, const Cluster& cluster) {
  if (!cluster.node.bonded_nics) return;
  const Network& network = cluster.network;
  const bool ecmp = network.kind == NetworkKind::kRoce && network.routing == Routing::kEcmp;
  if (ecmp && network.topology.kind == TopologyKind::kSingleSwitch) {
    const int ports = 2 * cluster.nodes * cluster.node.nic_count;
    if (network.topology.switch_ports == 0 || network.topology.switch_ports >= ports) return;
    reader.report_together(
        {"node", "node.nics", "node.nics.ports", "network.topology.switch_ports"},
        fmt::format("switch_ports: {} ports, and bonded NICs take {}",
                    network.topology.switch_ports, ports));
    return;
  }
  reader.report_together(
      {"node", "node.nics", "node.nics.bond", "network", "network.kind", "network.routing",
       "network.topology", "network.topology.kind"},
      "bond: true is available over RoCE with routing: ecmp and one switch (topology: {kind: "
      "single_switch}), and not over this network");
}

// Where a leaf has cables to two neighbours alone, there is nothing to choose from but those to
// one.
void check_routing(MappingReader& reader, const Network& network) {
  const bool chooses = network.routing == Routing::kAdaptive || network.routing == Routing::kSpray;
  if (network.topology.kind != TopologyKind::kRing || !chooses) return;
  reader.report_together(
      {"network", "network.routing", "network.topology", "network.topology.kind"},
      "routing: on a ring `way` says which way packets go; take static or, of roce, ecmp");
}

void check_network(MappingReader& reader, const Cluster& cluster) {
  if (cluster.network.topology.kind == TopologyKind::kBackToBack && cluster.nodes != 2) {
    reader.report_together(
        {"nodes", "network", "network.topology", "network.topology.kind"},
        fmt::format("nodes: back_to_back joins two nodes, not {}; take another topology, as "
                    "single_switch",
                    cluster.nodes));
  }
  check_routing(reader, cluster.network);
  if (cluster.node.nic_count > 0) {
    check_nics(reader, cluster);
    check_bonds(reader, cluster);
    check_lossless_nics(reader, cluster);
  } else if (cluster.nodes > 1) {
    reader.report_together({"node", "node.nics", "node.nics.count", "nodes"},
                           fmt::format("{} has no NIC, and there are {} nodes to join",
                                       cluster.node.name, cluster.nodes));
  }
}

std::string in_words_of_the_file(std::string error) {
  constexpr std::string_view kField = "uplinks_per_leaf";
  for (std::size_t at = 0; (at = error.find(kField, at)) != std::string::npos;) {
    error.replace(at, kField.size(), "uplinks");
  }
  return error;
}

void check_tiers(MappingReader& reader, const Topology& sized) {
  constexpr std::string_view kPath = "network.topology.tiers";
  const TreeNode* tiers = reader.node()->find_path(kPath);
  const int spine_tier = sized.spines > 0 ? 1 : 0;
  const int needed = sized.kind == TopologyKind::kBackToBack ? 0 : 1 + spine_tier;
  if (tiers == nullptr) return;
  const std::int64_t given = parse_count(tiers->text).value.value_or(needed);  // or "auto"
  if (given == needed) return;
  reader.problems().add(tiers->place(),
                        fmt::format("tiers: {} given, and these nodes and ports make "
                                    "{}",
                                    given, needed));
}

// Fills in leaves, spines and uplinks, and checks those that were given.
void size_network(MappingReader& reader, Cluster& cluster) {
  const int nics = cluster.node.nic_count;
  const SizedTopology sized = size_topology(cluster.network, cluster.nodes, nics);
  for (const std::string& error : sized.errors) {
    reader.report_together(
        {"network", "network.topology", "network.topology.switch_ports", "network.topology.leaves",
         "network.topology.spines", "network.topology.uplinks", "network.topology.kind",
         "network.oversubscription", "nodes", "node", "node.nics", "node.nics.count"},
        fmt::format("topology: {}", in_words_of_the_file(error)));
  }
  if (!sized.errors.empty()) return;
  cluster.network.topology = sized.topology;
  check_tiers(reader, sized.topology);
}

}  // namespace

ReadCluster read_cluster(MappingReader& reader) {
  ReadCluster result;
  Cluster& cluster = result.cluster;
  cluster.nodes = static_cast<int>(reader.count("nodes", {.least = 1, .most = kMostNodes}));
  require(reader, "node", "nodes");
  require(reader, "network", "networks");
  bool parts_whole = true;
  if (reader.has("node")) {
    MappingReader node = reader.mapping("node");
    ReadNode read = read_node(node);
    cluster.node = std::move(read.node);
    parts_whole = read.whole;
  }
  if (reader.has("network")) {
    MappingReader network = reader.mapping("network");
    cluster.network = read_network(network);
    // What could not be found has been reported before there was a reader.
    parts_whole = parts_whole && network.good() && !network.broken();
  }
  const std::string every_gpu = fmt::format("{}", cluster.node.gpu_count);
  cluster.ranks_per_node = static_cast<int>(
      reader.count("ranks_per_node", {.otherwise = {every_gpu}, .least = 1, .most = 1024}));
  if (parts_whole && reader.good()) {
    check_ranks(reader, cluster);
    check_network(reader, cluster);
    if (reader.good()) size_network(reader, cluster);
  }
  cluster.faults = read_faults(reader, parts_whole && reader.good() ? &cluster : nullptr);
  reader.raw("node");
  reader.raw("network");
  reader.finish();
  result.whole = parts_whole && reader.good();
  if (result.whole) result.notes = fault_notes(cluster);
  return result;
}

}  // namespace gradhaul
