#pragma once

// The server layouts of tests: where GPUs and NICs hang, with the rates of their generation.

#include <string>

#include "core/cluster.h"

namespace gradhaul::samples {

inline std::string gpu(int index) { return "gpu" + std::to_string(index); }
inline std::string nic(int index) { return "nic" + std::to_string(index); }

inline PcieBranch pcie_switch(int index, const std::string& parent,
                              std::vector<std::string> devices) {
  return {"sw" + std::to_string(index), parent, PcieLink{5, 16}, std::move(devices)};
}

inline Node bare_node(int gpus, int nics) {
  Node node;
  node.gpu_count = gpus;
  node.nic_count = nics;
  node.gpu.pcie = PcieLink{5, 16};
  node.nic.pcie = PcieLink{5, 16};
  return node;
}

inline void add_nvlink(Node& node) {
  node.nvlink = Nvlink{{450 * 8'000'000'000}, 0.824, {700'000}};
}

// One GPU and one NIC below each of eight switches, four switches a socket.
inline Node hgx_h100() {
  Node node = bare_node(8, 8);
  node.name = "hgx-h100";
  node.sockets = 2;
  node.gpu.reduce_bandwidth = {37 * 8'000'000'000};
  node.nic.rate = {400'000'000'000};
  add_nvlink(node);
  for (int i = 0; i < 8; ++i) {
    node.pcie.push_back(pcie_switch(i, i < 4 ? "socket0" : "socket1", {gpu(i), nic(i)}));
  }
  return node;
}

// Two GPUs and two NICs below each of four switches, two switches a socket.
inline Node dgx_a100() {
  Node node = bare_node(8, 8);
  node.name = "dgx-a100";
  node.sockets = 2;
  node.gpu.reduce_bandwidth = {22 * 8'000'000'000};
  node.nic.rate = {200'000'000'000};
  add_nvlink(node);
  node.nvlink->bandwidth = {300 * 8'000'000'000};
  node.nvlink->efficiency = 0.80;
  for (int i = 0; i < 4; ++i) {
    const int first = 2 * i;
    node.pcie.push_back(pcie_switch(i, i < 2 ? "socket0" : "socket1",
                                    {gpu(first), gpu(first + 1), nic(first), nic(first + 1)}));
  }
  return node;
}

// Two GPUs share one NIC below each of four switches, two switches a socket (p4d's shape).
inline Node two_gpus_share_a_nic() {
  Node node = bare_node(8, 4);
  node.sockets = 2;
  add_nvlink(node);
  for (int i = 0; i < 4; ++i) {
    node.pcie.push_back(
        pcie_switch(i, i < 2 ? "socket0" : "socket1", {gpu(2 * i), gpu(2 * i + 1), nic(i)}));
  }
  return node;
}

// Two NICs behind one uplink, with the only GPU there; the other three GPUs have a switch each.
inline Node two_nics_behind_one_uplink() {
  Node node = bare_node(4, 2);
  add_nvlink(node);
  node.pcie = {pcie_switch(0, "socket0", {gpu(0), nic(0), nic(1)}),
               pcie_switch(1, "socket0", {gpu(1)}), pcie_switch(2, "socket0", {gpu(2)}),
               pcie_switch(3, "socket0", {gpu(3)})};
  return node;
}

// All GPUs at socket 0, the only NIC at socket 1.
inline Node nic_on_other_socket() {
  Node node = bare_node(4, 1);
  node.sockets = 2;
  node.pcie = {pcie_switch(0, "socket0", {gpu(0), gpu(1)}),
               pcie_switch(1, "socket0", {gpu(2), gpu(3)}),
               {"", "socket1", PcieLink{4, 8}, {nic(0)}}};
  return node;
}

// Eight GPUs as in hgx_h100(), and one NIC beside GPU 0.
inline Node one_nic_for_eight_gpus() {
  Node node = hgx_h100();
  node.nic_count = 1;
  for (PcieBranch& branch : node.pcie) branch.devices.resize(1);
  node.pcie[0].devices.push_back(nic(0));
  return node;
}

inline Node one_gpu_one_nic() {
  Node node = bare_node(1, 1);
  node.pcie = {pcie_switch(0, "socket0", {gpu(0), nic(0)})};
  return node;
}

// GPUs and NICs are dealt out in turn over `switches` switches, these over `sockets` sockets.
struct Dealt {
  int gpus = 1;
  int nics = 1;
  int switches = 1;
  int sockets = 1;
  bool nvlink = true;
};

inline Node dealt_node(const Dealt& dealt) {
  Node node = bare_node(dealt.gpus, dealt.nics);
  node.sockets = dealt.sockets;
  if (dealt.nvlink) add_nvlink(node);
  for (int i = 0; i < dealt.switches; ++i) {
    PcieBranch branch =
        pcie_switch(i, "socket" + std::to_string(i * dealt.sockets / dealt.switches), {});
    for (int g = i; g < dealt.gpus; g += dealt.switches) branch.devices.push_back(gpu(g));
    for (int n = i; n < dealt.nics; n += dealt.switches) branch.devices.push_back(nic(n));
    node.pcie.push_back(branch);
  }
  return node;
}

inline Cluster cluster_of(const Node& node, int nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.node = node;
  cluster.ranks_per_node = node.gpu_count;
  cluster.network.link = {400'000'000'000};
  return cluster;
}

}  // namespace gradhaul::samples
