#pragma once

// Nodes at one Ethernet switch, whose NICs reach memory in no time.

#include <string>

#include "core/network_framing.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul::examples {

// The same over Ethernet.
inline Cluster over_ethernet(Cluster cluster) {
  cluster.network.kind = NetworkKind::kRoce;
  cluster.network.switch_latency = 400_ns;
  cluster.network.switch_buffer = {64'000'000};
  return cluster;
}

inline Cluster roce_switch(int nodes, BitRate link) {
  Node node = bare_node(1, 5);
  node.pcie.clear();
  Cluster cluster = over_ethernet(one_switch(node, nodes, link));
  PauseSettings& pause = cluster.network.pause;
  pause.xoff = {100'000};
  pause.xon = {70'000};
  pause.response = serialisation_time({pause_response_quanta(link) * kPauseQuantumBits / 8}, link);
  return cluster;
}

// Much as networks/roce.yaml has it.
inline Cluster lossless_roce(const Cluster& cluster) {
  Cluster over = over_ethernet(cluster);
  over.network.pause.xoff = {600'000};
  over.network.pause.xon = {500'000};
  over.network.pause.response = 1_us;
  over.network.routing = Routing::kEcmp;
  return over;
}

inline std::string out_of(int node) { return "node" + std::to_string(node) + ".nic0.out"; }
inline std::string into(int node) { return "node" + std::to_string(node) + ".nic0.in"; }

}  // namespace gradhaul::examples
