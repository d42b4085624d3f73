#include "core/channel_count.h"

#include <gtest/gtest.h>

#include "tests/core/sample_nodes.h"

namespace gradhaul {
namespace {

using namespace literals;

// 8 x 50 GB/s x 4096/4122 = 397.477 GB/s, 1.3 times that 516.72; at 37 GB/s a channel 13.97.
TEST(ChannelCount, EightNdrNicsTakeSixteen) {
  const Cluster cluster = samples::cluster_of(samples::hgx_h100(), 4);
  EXPECT_NEAR(carried_payload(cluster).gigabytes_per_second(), 397.477, 0.001);
  EXPECT_EQ(automatic_channels(cluster), 16);
}

// 8 x 25 x 4096/4122 x 1.3 / 22 = 11.74.
TEST(ChannelCount, EightHdrNicsTakeSixteen) {
  Cluster cluster = samples::cluster_of(samples::dgx_a100(), 2);
  EXPECT_EQ(automatic_channels(cluster), 16);
  cluster.node.gpu.reduce_bandwidth = 33_GBps;  // 7.83
  EXPECT_EQ(automatic_channels(cluster), 8);
}

TEST(ChannelCount, IsExactAtTheMargin) {
  Cluster cluster = samples::cluster_of(samples::one_gpu_one_nic(), 2);
  cluster.network.kind = NetworkKind::kIdeal;
  cluster.network.link = 400_Gbps;
  cluster.node.gpu.reduce_bandwidth = 65_GBps;  // 1.3 x 50
  EXPECT_EQ(automatic_channels(cluster), 1);
  cluster.node.gpu.reduce_bandwidth.bits_per_second -= 1;
  EXPECT_EQ(automatic_channels(cluster), 2);
  cluster.node.gpu.reduce_bandwidth = 10_GBps;
  EXPECT_EQ(automatic_channels(cluster), 7);
}

TEST(ChannelCount, TheSlowerOfNicAndLinkCounts) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 4);
  cluster.network.link = 200_Gbps;
  EXPECT_EQ(automatic_channels(cluster), 8);
  cluster.network.link = kUnlimited;  // the NIC's own rate is left
  EXPECT_EQ(automatic_channels(cluster), 16);
}

// 450 x 0.824 = 370.8 GB/s, x 1.3 / 37 = 13.03.
TEST(ChannelCount, OneNodeGoesByNvlinkInMultiplesOfNics) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 1);
  EXPECT_NEAR(carried_payload(cluster).gigabytes_per_second(), 370.8, 1e-6);
  EXPECT_EQ(automatic_channels(cluster), 16);
  cluster.node = samples::bare_node(8, 0);
  samples::add_nvlink(cluster.node);
  cluster.node.gpu.reduce_bandwidth = 37_GBps;
  EXPECT_EQ(automatic_channels(cluster), 14);
}

// Generation 5 x16: 63.015 GB/s x 0.97 x 256/280 = 55.885, x 1.3 / 37 = 1.96.
TEST(ChannelCount, OneNodeWithoutNvlinkGoesByPcie) {
  Cluster cluster = samples::cluster_of(samples::nic_on_other_socket(), 1);
  EXPECT_NEAR(carried_payload(cluster).gigabytes_per_second(), 55.885, 0.001);
  cluster.node.gpu.reduce_bandwidth = 37_GBps;
  EXPECT_EQ(automatic_channels(cluster), 2);
  cluster.node.gpu.pcie = PcieLink{4, 16};  // 223.54 Gb/s
  EXPECT_NEAR(static_cast<double>(carried_payload(cluster).bits_per_second), 223.54e9, 1e7);
  EXPECT_EQ(automatic_channels(cluster), 1);
}

TEST(ChannelCount, NothingLimitsGivesOneRound) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 4);
  cluster.node.gpu.reduce_bandwidth = kUnlimited;
  EXPECT_EQ(automatic_channels(cluster), 8);
  cluster = samples::cluster_of(samples::hgx_h100(), 4);
  cluster.node.nic.rate = cluster.network.link = kUnlimited;
  EXPECT_EQ(automatic_channels(cluster), 8);
  Cluster ideal;
  EXPECT_EQ(automatic_channels(ideal), 1);
  ideal.node.gpu.reduce_bandwidth = 37_GBps;
  EXPECT_EQ(automatic_channels(ideal), 1);  // no PCIe, no NVLink
}

TEST(ChannelCount, AbsurdlySlowKernelsDoNotOverflow) {
  Cluster cluster = samples::cluster_of(samples::hgx_h100(), 4);
  cluster.node.gpu.reduce_bandwidth = {1};
  EXPECT_GT(automatic_channels(cluster), 0);
}

}  // namespace
}  // namespace gradhaul
