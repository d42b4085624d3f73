#include "core/nccl_graph.h"

#include <gtest/gtest.h>

#include <string>

#include "core/nccl_tuner.h"
#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace literals;

Cluster h100(int nodes, BitRate port = 400_Gbps) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.ranks_per_node = 8;
  cluster.node = examples::bare_node(8, 5);
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  cluster.node.gpu.compute_capability = 90;
  cluster.node.cpu = CpuVendor::kIntel;
  cluster.node.nic.rate = port;
  cluster.network.link = port;
  return cluster;
}

void expect_graph(const NcclGraph& graph, int channels, double intra, double inter) {
  EXPECT_EQ(graph.channels, channels);
  EXPECT_DOUBLE_EQ(graph.intra, intra);
  EXPECT_DOUBLE_EQ(graph.inter, inter);
}

// NCCL issue 1197: "nChannels 12, bw 30/30" for rings and trees, "8, bw 40/60" for NVLS.
TEST(NcclGraphs, AreThoseOfAnH100Node) {
  const NcclGraphs graphs = find_nccl_graphs(h100(1), NcclVersion::k2_22);
  expect_graph(graphs.ring, 12, 30, 30);
  expect_graph(graphs.tree, 12, 30, 30);
  expect_graph(graphs.nvls, 8, 40, 60);
  EXPECT_EQ(graphs.compute_channels, 24);  // "24 coll channels" in logs
  EXPECT_TRUE(graphs.nvlink);
  EXPECT_TRUE(graphs.whole_lines);
  EXPECT_FALSE(graphs.plain_tree);
}

// "nChannels 12, bw 20/20" over NVLink of 240 GB/s; no NVLS before Hopper.
TEST(NcclGraphs, AreThoseOfAnA100Node) {
  Cluster cluster = h100(1);
  cluster.node.gpu.compute_capability = 80;
  cluster.node.nvlink = Nvlink{300_GBps, 0.8, 700_ns};
  const NcclGraphs graphs = find_nccl_graphs(cluster, NcclVersion::k2_30);
  expect_graph(graphs.ring, 12, 20, 20);
  expect_graph(graphs.tree, 12, 20, 20);
  EXPECT_EQ(graphs.nvls.channels, 0);
}

// "nChannels 8, bw 48/48" between H100 nodes with eight NICs of 400 Gb/s.
TEST(NcclGraphs, TakeAChannelOfEachNic) {
  const NcclGraphs graphs = find_nccl_graphs(h100(2), NcclVersion::k2_30);
  expect_graph(graphs.ring, 8, 48, 48);
  expect_graph(graphs.tree, 8, 48, 48);
  expect_graph(graphs.nvls, 8, 40, 48);
  EXPECT_EQ(graphs.compute_channels, 16);
  EXPECT_TRUE(graphs.plain_tree);
}

// NCCL issue 1189: two NICs of 400 Gb/s, "nChannels 4, bw 24/24": fast channels are doubled.
TEST(NcclGraphs, DoubleFewFastChannels) {
  Cluster cluster = h100(2);
  cluster.ranks_per_node = 2;
  cluster.node = examples::bare_node(2, 5);
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  cluster.node.gpu.compute_capability = 90;
  const NcclGraphs graphs = find_nccl_graphs(cluster, NcclVersion::k2_22);
  expect_graph(graphs.ring, 4, 24, 24);
  EXPECT_EQ(graphs.nvls.channels, 0);  // two GPUs have no use for it
}

// PCIe 4 carries 24 GB/s, less than the NIC's 25; trees may be faster within nodes, up to twice.
TEST(NcclGraphs, KeepToPcie) {
  Cluster cluster = h100(2, 200_Gbps);
  const NcclGraphs graphs = find_nccl_graphs(cluster, NcclVersion::k2_30);
  expect_graph(graphs.ring, 8, 24, 24);
  expect_graph(graphs.tree, 8, 48, 24);
  cluster.node.gpu.pcie = PcieLink{3, 16};
  expect_graph(find_nccl_graphs(cluster, NcclVersion::k2_30).ring, 8, 12, 12);
}

// The whole way: what the cluster of NCCL issue 1453 gives is what NCCL logged there.
TEST(NcclGraphs, LeadToNcclsOwnEstimates) {
  Workload workload;
  const NcclTuner tuner(nccl_run(h100(3, 200_Gbps), workload, NcclVersion::k2_22));
  const auto time_of = [&](NcclAlgorithm algorithm, Protocol protocol, Bytes size) {
    for (const NcclEstimate& estimate : tuner.estimates(size)) {
      if (estimate.algorithm == algorithm && estimate.protocol == protocol) {
        return estimate.time.microseconds();
      }
    }
    return 0.0;
  };
  EXPECT_NEAR(time_of(NcclAlgorithm::kTree, Protocol::kLl, 128_B), 25.214764, 1e-6);
  EXPECT_NEAR(time_of(NcclAlgorithm::kRing, Protocol::kSimple, 8192_MiB), 86069.96875, 0.01);
}

TEST(NcclGraphs, SeeWhereLinesAreCut) {
  Cluster cluster = h100(2);
  for (PcieBranch& branch : cluster.node.pcie) {
    // NICs straight at the socket.
    if (branch.devices.size() == 2) branch.devices.pop_back();
  }
  for (int nic = 0; nic < 8; ++nic) {
    cluster.node.pcie.push_back({"", "socket0", std::nullopt, {"nic" + std::to_string(nic)}});
  }
  EXPECT_FALSE(find_nccl_graphs(cluster, NcclVersion::k2_30).whole_lines);
  cluster.node.nvlink.reset();
  cluster.nodes = 1;
  const NcclGraphs graphs = find_nccl_graphs(cluster, NcclVersion::k2_30);
  EXPECT_FALSE(graphs.whole_lines);
  EXPECT_FALSE(graphs.nvlink);
  EXPECT_GE(graphs.ring.channels, 1);
}

}  // namespace
}  // namespace gradhaul
