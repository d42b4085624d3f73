#include "analysis/busbw_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/sample_prediction.h"

namespace gradhaul {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace literals;

Cluster hgx(int nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.ranks_per_node = 8;
  cluster.node.gpu_count = 8;
  cluster.node.nic_count = 8;
  cluster.node.nic.rate = 400_Gbps;
  cluster.node.nvlink = Nvlink{450_GBps, 0.824, {}};
  cluster.network.link = 400_Gbps;
  return cluster;
}

TEST(BusbwBound, ARingIsBoundByTheNicsOfANode) {
  EXPECT_DOUBLE_EQ(busbw_bound(hgx(4), Collective::kAllReduce), 400e9);
  Cluster slow = hgx(4);
  slow.network.link = 200_Gbps;
  EXPECT_DOUBLE_EQ(busbw_bound(slow, Collective::kAllReduce), 200e9);
}

TEST(BusbwBound, OneNodeIsBoundByNvlink) {
  EXPECT_DOUBLE_EQ(busbw_bound(hgx(1), Collective::kAllReduce), 450e9 * 0.824);
  Cluster pcie = hgx(1);
  pcie.node.nvlink.reset();
  pcie.node.gpu.pcie = PcieLink{5, 16};
  EXPECT_DOUBLE_EQ(busbw_bound(pcie, Collective::kAllReduce), 64e9);
  pcie.node.gpu.pcie = PcieLink{3, 8};
  EXPECT_DOUBLE_EQ(busbw_bound(pcie, Collective::kAllReduce), 8e9);
}

// Each of 8 ranks sends 24 of its 32 parts out of the node: 24/32 of it leaves, over one NIC each.
TEST(BusbwBound, AllToAllIsBoundByWhatLeavesANode) {
  EXPECT_NEAR(busbw_bound(hgx(4), Collective::kAllToAll), 50e9 * 31 / 24, 1);
}

TEST(BusbwBound, NothingBoundsUnlimitedLinks) {
  EXPECT_TRUE(std::isinf(busbw_bound(Cluster{}, Collective::kAllReduce)));
}

TEST(BusbwBound, WhatTheLinksCarryPasses) {
  std::vector<std::string> notes;
  enforce_busbw_bound(testing::sample_row(), 386.9e9, notes);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(BusbwBoundDeathTest, MoreThanTheLinksCarryEndsTheRun) {
  std::vector<std::string> notes;
  EXPECT_DEATH(enforce_busbw_bound(testing::sample_row(), 386e9, notes),
               "no busbw is above what links carry: 386.82 GB/s, where links carry 386.00");
}

TEST(BusbwBound, ATreeMayExceedItAndANoteSaysSo) {
  ResultRow row = testing::sample_row();
  row.algorithm = "double_binary_tree";
  std::vector<std::string> notes;
  enforce_busbw_bound(row, 300e9, notes);
  enforce_busbw_bound(row, 300e9, notes);
  EXPECT_THAT(notes, ElementsAre(HasSubstr("by its definition only"))) << "said once";
}

}  // namespace
}  // namespace gradhaul
