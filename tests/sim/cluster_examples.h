#pragma once

// Clusters for the simulator's tests, with every value that a closed form needs in sight.

#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/prediction_request.h"
#include "core/result.h"
#include "core/topology_size.h"

namespace gradhaul::examples {

using namespace gradhaul::literals;  // NOLINT(google-build-using-namespace)

// One GPU and one NIC a node, one full-duplex link of 50 GB/s and 1 us, everything else free.
inline Cluster ideal_cluster(int nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.node.name = "ideal";
  cluster.network.kind = NetworkKind::kIdeal;
  cluster.network.link = 400_Gbps;
  cluster.network.switch_latency = 1_us;
  cluster.network.node_cable_metres = 0;
  cluster.network.spine_cable_metres = 0;
  return cluster;
}

// GPUs and NICs whose own costs are nil, on PCIe generation `generation` x16 below one switch for
// each pair: the links and their framing alone count.
inline Node bare_node(int pairs, int generation) {
  Node node;
  node.name = "bare";
  node.gpu_count = pairs;
  node.nic_count = pairs;
  node.gpu.pcie = PcieLink{generation, 16};
  node.nic.pcie = PcieLink{generation, 16};
  node.nic.transmit_buffer = 256_KiB;
  for (int i = 0; i < pairs; ++i) {
    const std::string n = std::to_string(i);
    node.pcie.push_back({"sw" + n, "socket0", PcieLink{generation, 16}, {"gpu" + n, "nic" + n}});
  }
  return node;
}

inline Cluster bare_pair(int generation, BitRate link, Bytes mtu) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.node = bare_node(1, generation);
  cluster.network.link = link;
  cluster.network.mtu = mtu;
  cluster.network.topology.kind = TopologyKind::kBackToBack;
  return cluster;
}

// The same without PCIe: NICs reach memory in no time.
inline Cluster bare_wire(BitRate link, Bytes mtu) {
  Cluster cluster = bare_pair(5, link, mtu);
  cluster.node.pcie.clear();
  return cluster;
}

// Devices that take their time, each stage another, so that a stage left out or counted twice
// shows.
inline void give_latencies(Node& node) {
  node.gpu.read_latency = 700_ns;
  node.gpu.write_latency = 150_ns;
  node.gpu.kernel_launch = 4_us;
  node.gpu.flag_latency = 500_ns;
  node.nic.post = 75_ns;
  node.nic.doorbell = 203_ns;
  node.nic.wqe_fetch = 351_ns;
  node.nic.transmit_latency = 199_ns;
  node.nic.receive_latency = 211_ns;
  node.nic.completion = 227_ns;
}

// HGX H100: a GPU and a 400 Gb/s NIC below each of eight PCIe 5 switches, four at each socket;
// NVSwitch. Numbers as in scenarios/nodes and scenarios/devices.
inline Node hgx_h100() {
  Node node = bare_node(8, 5);
  node.name = "hgx-h100";
  give_latencies(node);
  node.sockets = 2;
  for (std::size_t i = 4; i < 8; ++i) node.pcie[i].parent = "socket1";
  node.socket_link = {90_GBps, 100_ns};
  node.root_complex.peer_to_peer_across_sockets = 22_GBps;
  node.root_complex.tlp_split = Bytes{64};
  node.gpu.memory_bandwidth = 3350_GBps;
  node.gpu.reduce_bandwidth = 37_GBps;
  node.nic.rate = 400_Gbps;
  node.nic.message_rate = 330'000'000;
  node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  return node;
}

// DGX A100: four PCIe 4 switches with two GPUs and two 200 Gb/s NICs each, two at each socket.
inline Node dgx_a100() {
  Node node = bare_node(8, 4);
  node.name = "dgx-a100";
  give_latencies(node);
  node.sockets = 2;
  node.pcie.clear();
  for (int i = 0; i < 4; ++i) {
    const std::string even = std::to_string(2 * i);
    const std::string odd = std::to_string(2 * i + 1);
    node.pcie.push_back({"sw" + std::to_string(i),
                         i < 2 ? "socket0" : "socket1",
                         PcieLink{4, 16},
                         {"gpu" + even, "gpu" + odd, "nic" + even, "nic" + odd}});
  }
  node.socket_link = {108_GBps, 100_ns};
  node.root_complex.peer_to_peer_read = 22_GBps;
  node.root_complex.peer_to_peer_write = 22_GBps;
  node.root_complex.peer_to_peer_across_sockets = 16_GBps;
  node.gpu.memory_bandwidth = 2039_GBps;
  node.gpu.reduce_bandwidth = BitRate{22'500'000'000 * 8};
  node.nic.rate = 200_Gbps;
  node.nic.message_rate = 215'000'000;
  node.nvlink = Nvlink{300_GBps, 0.80, 700_ns};
  return node;
}

// All NICs at one switch, every GPU a rank.
inline Cluster one_switch(const Node& node, int nodes, BitRate link) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.node = node;
  cluster.network.link = link;
  cluster.network.topology.kind = TopologyKind::kSingleSwitch;
  cluster.network.topology.leaves = 1;
  cluster.ranks_per_node = node.gpu_count;
  return cluster;
}

// As many GPUs as NICs, each pair below a switch of its own; NVLink where there are several.
inline Cluster paired_cluster(int nodes, int pairs) {
  Node node = bare_node(pairs, 5);
  give_latencies(node);
  node.gpu.reduce_bandwidth = 37_GBps;
  node.gpu.memory_bandwidth = 3350_GBps;
  node.nic.rate = 400_Gbps;
  if (pairs > 1) node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  Cluster cluster = one_switch(node, nodes, 400_Gbps);
  cluster.network.topology.leaves = 0;
  return cluster;
}

inline PredictionRequest request_for(const Cluster& cluster, Bytes size) {
  PredictionRequest request;
  request.cluster = cluster;
  request.workload.sizes = {size};
  request.workload.datatype = DataType::kBf16;
  return request;
}

inline double row_us(const Prediction& prediction) {
  return prediction.rows.at(0).time.microseconds();
}

// DCQCN whose rates come and go within the microseconds of a small run.
inline CongestionControl quick_dcqcn() {
  CongestionControl control;
  control.dcqcn = true;
  control.kmin = {10'000};
  control.kmax = {40'000};
  control.notification_interval = 4_us;
  control.gain = 1.0 / 256;
  control.alpha_timer = control.decrease_interval = 10_us;
  control.increase_timer = 40_us;
  control.additive_increase = BitRate{200'000'000};
  control.hyper_increase = control.least_rate = BitRate{1'000'000'000};
  return control;
}

// Pairs of one node each over TCP: copies to and from host memory take what a driver's and a DRAM's
// do. `mtu`: payload of a packet.
inline Cluster sockets_cluster(int nodes, BitRate link, Bytes mtu, const TcpSettings& tcp = {}) {
  Cluster cluster = paired_cluster(nodes, 1);
  cluster.node.gpu.copy_setup = 6_us;
  cluster.node.host_memory_latency = 90_ns;
  cluster.node.host_memory_bandwidth = 200_GBps;
  Network& network = cluster.network;
  network.kind = NetworkKind::kEthernet;
  network.link = link;
  network.mtu = mtu;
  network.topology = size_topology(network, nodes, 1).topology;
  network.tcp = tcp;
  return cluster;
}

}  // namespace gradhaul::examples
