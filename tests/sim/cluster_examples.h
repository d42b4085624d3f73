#pragma once

// Clusters for the simulator's tests, with every value that a closed form needs in sight.

#include <string>

#include "core/cluster.h"
#include "core/prediction_request.h"

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

inline PredictionRequest request_for(const Cluster& cluster, Bytes size) {
  PredictionRequest request;
  request.cluster = cluster;
  request.workload.sizes = {size};
  request.workload.datatype = DataType::kBf16;
  return request;
}

}  // namespace gradhaul::examples
