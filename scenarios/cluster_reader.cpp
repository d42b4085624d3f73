#include "scenarios/cluster_reader.h"

#include <fmt/format.h>

#include "core/topology_size.h"
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
    reader.report("ranks_per_node",
                  fmt::format("ranks_per_node: {} ranks need a GPU each, and {} has {}",
                              cluster.ranks_per_node, cluster.node.name, cluster.node.gpu_count));
  }
  if (cluster.ranks() < 2) {
    reader.report("nodes",
                  "one rank alone has nobody to talk to; give it more nodes or more "
                  "ranks_per_node");
  }
}

void check_network(MappingReader& reader, const Cluster& cluster) {
  const Network& network = cluster.network;
  if (network.topology.kind == TopologyKind::kBackToBack && cluster.nodes != 2) {
    reader.report("nodes", fmt::format("nodes: back_to_back joins two nodes, not {}; take another "
                                       "topology, as single_switch",
                                       cluster.nodes));
  }
  if (cluster.nodes > 1 && cluster.node.nic_count == 0) {
    reader.report("node", fmt::format("{} has no NIC, and there are {} nodes to join",
                                      cluster.node.name, cluster.nodes));
  }
  const NicModel& nic = cluster.node.nic;
  if (cluster.node.nic_count > 0 && network.link > nic.rate) {
    reader.report("network",
                  fmt::format("a link of {} is more than the port of {} runs at, {}; take a slower "
                              "network or another NIC",
                              format_rate(network.link), nic.name, format_rate(nic.rate)));
  }
  if (cluster.node.nic_count > 0 && nic.transmit_buffer.count > 0 &&
      nic.transmit_buffer < network.mtu) {
    reader.report(
        "node",
        fmt::format("the transmit_buffer of {}, {}, never holds one packet of mtu {}", nic.name,
                    format_bytes(nic.transmit_buffer), format_bytes(network.mtu)));
  }
}

// The value at `key` below `mapping`, where it is one that has keys.
const TreeNode* below(const TreeNode* mapping, std::string_view key) {
  return mapping == nullptr ? nullptr : mapping->find(key);
}

std::string in_words_of_the_file(std::string error) {
  constexpr std::string_view kField = "uplinks_per_leaf";
  for (std::size_t at = 0; (at = error.find(kField, at)) != std::string::npos;) {
    error.replace(at, kField.size(), "uplinks");
  }
  return error;
}

// Fills in leaves, spines and uplinks, and checks those that were given.
void size_network(MappingReader& reader, Cluster& cluster) {
  const int nics = cluster.node.nic_count;
  const SizedTopology sized = size_topology(cluster.network, cluster.nodes, nics);
  const TreeNode* topology = below(below(reader.node(), "network"), "topology");
  const Location place = topology == nullptr ? reader.location("network") : topology->location;
  for (const std::string& error : sized.errors) {
    reader.problems().add(place, fmt::format("topology: {}", in_words_of_the_file(error)));
  }
  if (!sized.errors.empty()) return;
  cluster.network.topology = sized.topology;
  const TreeNode* tiers = below(topology, "tiers");
  const auto given = tiers == nullptr ? std::nullopt : parse_count(tiers->text).value;
  const bool switched = sized.topology.kind != TopologyKind::kBackToBack;
  const int needed = !switched ? 0 : sized.topology.spines > 0 ? 2 : 1;
  if (given && *given != needed) {
    reader.problems().add(
        tiers->location,
        fmt::format("tiers: {} given, and these nodes and ports make {}", *given, needed));
  }
}

}  // namespace

Cluster read_cluster(MappingReader& reader) {
  Cluster cluster;
  cluster.nodes = static_cast<int>(reader.count("nodes", {.least = 1, .most = kMostNodes}));
  require(reader, "node", "nodes");
  require(reader, "network", "networks");
  const std::size_t before = reader.problems().size();
  if (reader.has("node")) {
    MappingReader node = reader.mapping("node");
    cluster.node = read_node(node);
  }
  if (reader.has("network")) {
    MappingReader network = reader.mapping("network");
    cluster.network = read_network(network);
  }
  const bool parts_good = before == reader.problems().size() && reader.has("node");
  const std::string every_gpu = fmt::format("{}", cluster.node.gpu_count);
  cluster.ranks_per_node = static_cast<int>(
      reader.count("ranks_per_node", {.otherwise = {every_gpu}, .least = 1, .most = 1024}));
  reader.empty_only("faults", FilledValue::Kind::kList);
  if (parts_good && reader.good()) {
    check_ranks(reader, cluster);
    check_network(reader, cluster);
    if (reader.good()) size_network(reader, cluster);
  }
  reader.raw("node");
  reader.raw("network");
  reader.finish();
  return cluster;
}

}  // namespace gradhaul
