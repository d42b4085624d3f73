#include "core/faults.h"

#include <gtest/gtest.h>

#include "core/cluster_parts.h"
#include "tests/core/sample_nodes.h"

namespace gradhaul {
namespace {

using namespace literals;  // NOLINT(google-build-using-namespace)

// A switch with a GPU and a NIC, and a NIC at a socket whose branch caps its link.
Cluster small_cluster() {
  Cluster cluster;
  cluster.nodes = 3;
  cluster.node.gpu.pcie = PcieLink{5, 16};
  cluster.node.nic.pcie = PcieLink{5, 16};
  cluster.node.nic_count = 2;
  cluster.node.nic.rate = 400_Gbps;
  cluster.node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {"gpu0", "nic0"}},
                       {"", "socket0", PcieLink{4, 8}, {"nic1"}}};
  cluster.node.nvlink = Nvlink{450_GBps, 0.8, 700_ns};
  cluster.network.link = 200_Gbps;
  cluster.network.topology.leaves = 2;
  cluster.network.topology.spines = 1;
  return cluster;
}

TEST(ClusterParts, AreFoundByTheirNames) {
  const Cluster cluster = small_cluster();
  const auto kind = [&](std::string_view name) { return find_part(cluster, name).value().kind; };
  EXPECT_EQ(kind("node2.nic1"), PartKind::kNetworkLink);
  EXPECT_EQ(kind("leaf1-spine0"), PartKind::kNetworkLink);
  EXPECT_EQ(kind("node0.nic1.pcie"), PartKind::kPcieLink);
  EXPECT_EQ(kind("node0.gpu0.pcie"), PartKind::kPcieLink);
  EXPECT_EQ(kind("node1.sw0"), PartKind::kPcieLink);
  EXPECT_EQ(kind("node1.gpu0.nvlink"), PartKind::kNvlink);
  EXPECT_EQ(kind("node1.gpu0"), PartKind::kGpu);
  EXPECT_EQ(find_part(cluster, "node2.nic1")->node, 2);
  for (const char* name :
       {"", "node", "node3.nic0", "node-1.nic0", "node01.nic0", "node0.nic2", "node0.nic", "node0",
        "node0.", "node0.gpu1", "node0.gpu0.memory", "node0.sw1", "node0.sw0.pcie", "leaf2-spine0",
        "leaf0-spine1", "leaf0", "leaf0-spine0.0", "node99999999999.nic0", "node0.nic0 "}) {
    EXPECT_FALSE(find_part(cluster, name).has_value()) << name;
  }
}

TEST(ClusterParts, HaveWhatTheyHangAtLeavesThem) {
  const Cluster cluster = small_cluster();
  EXPECT_EQ(find_part(cluster, "node0.nic0")->rate, 200_Gbps);
  EXPECT_EQ(find_part(cluster, "node0.nic0.pcie")->pcie, (PcieLink{5, 16}));
  EXPECT_EQ(find_part(cluster, "node0.nic1.pcie")->pcie, (PcieLink{4, 8}));
  EXPECT_EQ(find_part(cluster, "node0.sw0")->pcie, (PcieLink{4, 16}));
  EXPECT_EQ(find_part(cluster, "node0.gpu0.nvlink")->rate, 450_GBps);
}

TEST(Faults, LeaveLessOfWhatTheyNameAndNothingElse) {
  Faults faults;
  faults.links = {{"node0.nic0", 100_Gbps, {}, {}}, {"node1.sw0", {}, 8, 3}};
  faults.gpus = {{1, 2, 1.25}};
  EXPECT_EQ(trained_rate(faults, "node0.nic0", 400_Gbps), 100_Gbps);
  EXPECT_EQ(trained_rate(faults, "node0.nic0", 50_Gbps), 50_Gbps);
  EXPECT_EQ(trained_rate(faults, "node0.nic00", 400_Gbps), 400_Gbps);
  EXPECT_EQ(trained_link(faults, "node1.sw0", {5, 16}), (PcieLink{3, 8}));
  EXPECT_EQ(trained_link(faults, "node1.sw0", {2, 4}), (PcieLink{2, 4}));
  EXPECT_EQ(trained_link(faults, "node0.sw0", {5, 16}), (PcieLink{5, 16}));
  EXPECT_EQ(kernel_rate(faults, 1, 2, 50_GBps), 40_GBps);
  EXPECT_EQ(kernel_rate(faults, 1, 1, 50_GBps), 50_GBps);
  EXPECT_EQ(kernel_rate(faults, 1, 2, kUnlimited), kUnlimited);
}

}  // namespace
}  // namespace gradhaul
