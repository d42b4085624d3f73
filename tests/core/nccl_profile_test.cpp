// What NCCL takes for sends and receives, of which it chooses nothing.

#include "core/nccl_profile.h"

#include <gtest/gtest.h>

#include "tests/sim/cluster_examples.h"

namespace gradhaul {
namespace {

using namespace literals;

Cluster h100(int nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.ranks_per_node = 8;
  cluster.node = examples::bare_node(8, 5);
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, 700_ns};
  cluster.node.gpu.compute_capability = 90;
  cluster.node.cpu = CpuVendor::kIntel;
  cluster.node.nic.rate = 400_Gbps;
  cluster.network.link = 400_Gbps;
  return cluster;
}

int channels(const Cluster& cluster) { return nccl_peer_channels(cluster, NcclVersion::k2_30); }

// Two to a peer on another node, as long as that makes no more than four operations to each of 16
// channels: 32 ranks.
TEST(NcclPeers, HaveTwoChannelsAcrossNodes) {
  EXPECT_EQ(channels(h100(2)), 2);
  EXPECT_EQ(channels(h100(4)), 2);
  EXPECT_EQ(channels(h100(5)), 1);
  Cluster rail = h100(2);
  rail.ranks_per_node = 1;
  EXPECT_EQ(channels(rail), 2);
}

// "24 coll channels … 32 p2p channels, 32 p2p channels per peer": 18 links of NVLink would do for
// 36. Over PCIe two.
TEST(NcclPeers, HaveAllChannelsOfNvlink) {
  Cluster cluster = h100(1);
  EXPECT_EQ(channels(cluster), 32);
  cluster.node.nvlink.reset();
  EXPECT_EQ(channels(cluster), 2);
}

TEST(NcclPeers, SendStepsOfTheirOwn) {
  Cluster cluster = h100(1);
  EXPECT_EQ(nccl_peer_slot_size(cluster), 512_KiB);
  EXPECT_EQ(nccl_peer_slot_size(h100(2)), 128_KiB);
  cluster.node.nvlink.reset();
  EXPECT_EQ(nccl_peer_slot_size(cluster), 128_KiB);
}

}  // namespace
}  // namespace gradhaul
