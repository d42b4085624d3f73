#include "scenarios/network_links.h"

#include <fmt/format.h>

#include <utility>

#include "core/topology_size.h"

namespace gradhaul {
namespace {

// To spines, or to the leaves beside it.
std::vector<std::string> links_to_switches(const Topology& topology, int leaf) {
  std::vector<std::string> links;
  for (int spine = 0; spine < topology.spines; ++spine) {
    links.push_back(fmt::format("leaf{}-spine{}", leaf, spine));
  }
  const int leaves = topology.leaves;
  if (topology.kind == TopologyKind::kRing) {
    links.push_back(fmt::format("leaf{}-leaf{}", leaf, (leaf + 1) % leaves));
    links.push_back(fmt::format("leaf{}-leaf{}", (leaf + leaves - 1) % leaves, leaf));
  }
  return links;
}

}  // namespace

std::vector<std::string> links_of_spine(const Cluster& cluster, int spine) {
  std::vector<std::string> links;
  for (int leaf = 0; leaf < cluster.network.topology.leaves; ++leaf) {
    links.push_back(fmt::format("leaf{}-spine{}", leaf, spine));
  }
  return links;
}

std::vector<std::string> links_of_leaf(const Cluster& cluster, int leaf) {
  std::vector<std::string> links;
  const int nics = cluster.node.nic_count;
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int nic = 0; nic < nics; ++nic) {
      if (leaf_of(cluster.network.topology, cluster.nodes, nics, node, nic) != leaf) continue;
      links.push_back(fmt::format("node{}.nic{}", node, nic));
    }
  }
  for (std::string& link : links_to_switches(cluster.network.topology, leaf)) {
    links.push_back(std::move(link));
  }
  return links;
}

std::set<std::string> links_of_network(const Cluster& cluster) {
  std::set<std::string> links;
  for (int node = 0; node < cluster.nodes; ++node) {
    for (int nic = 0; nic < cluster.node.nic_count; ++nic) {
      links.insert(fmt::format("node{}.nic{}", node, nic));
    }
  }
  for (int leaf = 0; leaf < cluster.network.topology.leaves; ++leaf) {
    for (std::string& link : links_to_switches(cluster.network.topology, leaf)) {
      links.insert(std::move(link));
    }
  }
  return links;
}

}  // namespace gradhaul
