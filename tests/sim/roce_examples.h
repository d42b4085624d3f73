#pragma once

// Nodes at one Ethernet switch, whose NICs reach memory in no time.

#include <string>

#include "core/network_framing.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul::examples {

inline Cluster roce_switch(int nodes, BitRate link) {
  Node node = bare_node(1, 5);
  node.pcie.clear();
  Cluster cluster = one_switch(node, nodes, link);
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.switch_latency = 400_ns;
  network.switch_buffer = {64'000'000};
  network.pause.xoff = {100'000};
  network.pause.xon = {70'000};
  network.pause.response =
      serialisation_time({pause_response_quanta(link) * kPauseQuantumBits / 8}, link);
  return cluster;
}

// The same over RoCE, lossless by PFC, much as networks/roce.yaml has it.
inline Cluster lossless_roce(Cluster cluster) {
  Network& network = cluster.network;
  network.kind = NetworkKind::kRoce;
  network.switch_latency = 400_ns;
  network.switch_buffer = {64'000'000};
  network.pause.xoff = {600'000};
  network.pause.xon = {500'000};
  network.pause.response = 1_us;
  network.routing = Routing::kEcmp;
  return cluster;
}

inline std::string out_of(int node) { return "node" + std::to_string(node) + ".nic0.out"; }
inline std::string into(int node) { return "node" + std::to_string(node) + ".nic0.in"; }

}  // namespace gradhaul::examples
