#include "core/pcie_distance.h"

#include <gtest/gtest.h>

#include "core/placement.h"
#include "tests/core/sample_nodes.h"

namespace gradhaul {
namespace {

using samples::gpu;
using samples::nic;
using samples::pcie_switch;
using Indices = std::vector<int>;

TEST(PcieDistance, TellsSwitchRootPortSocketAndOtherSocketApart) {
  Node node = samples::bare_node(5, 1);
  node.sockets = 2;
  node.pcie = {pcie_switch(0, "socket0", {gpu(2)}),
               pcie_switch(1, "sw0", {gpu(1)}),
               pcie_switch(2, "sw0", {nic(0), gpu(0)}),
               pcie_switch(3, "socket0", {gpu(3)}),
               {"", "socket1", {}, {gpu(4)}}};
  const PcieDistances distances(node);
  EXPECT_EQ(distances.gpu_to_nic(0, 0), PcieDistance::kSameSwitch);
  EXPECT_EQ(distances.gpu_to_nic(1, 0), PcieDistance::kSameRootPort);
  EXPECT_EQ(distances.gpu_to_nic(2, 0), PcieDistance::kSameRootPort);
  EXPECT_EQ(distances.gpu_to_nic(3, 0), PcieDistance::kSameSocket);
  EXPECT_EQ(distances.gpu_to_nic(4, 0), PcieDistance::kOtherSocket);
  EXPECT_EQ(distances.gpu_to_gpu(0, 1), PcieDistance::kSameRootPort);
  EXPECT_EQ(distances.gpu_to_gpu(4, 3), PcieDistance::kOtherSocket);
}

TEST(PcieDistance, DevicesStraightAtASocketHaveARootPortEach) {
  Node node = samples::bare_node(2, 1);
  node.pcie = {{"", "socket0", {}, {gpu(0), nic(0)}}, pcie_switch(0, "socket0", {gpu(1)})};
  const PcieDistances distances(node);
  EXPECT_EQ(distances.gpu_to_nic(0, 0), PcieDistance::kSameSocket);
  EXPECT_EQ(distances.gpu_to_nic(1, 0), PcieDistance::kSameSocket);
}

TEST(PcieDistance, WithoutPcieGpuAndNicAreOneInTurn) {
  const Node node = samples::bare_node(8, 4);
  EXPECT_EQ(nearest_nics(node, 6), (Indices{2}));
  EXPECT_EQ(nearest_gpus(node, 2), (Indices{2, 6}));
  const PcieDistances distances(node);
  EXPECT_EQ(distances.gpu_to_nic(6, 2), PcieDistance::kNothing);
  EXPECT_GT(distances.gpu_to_nic(6, 3), PcieDistance::kNothing);
}

TEST(PcieDistance, NearestOfShippedLayouts) {
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(nearest_nics(samples::hgx_h100(), i), (Indices{i}));
    EXPECT_EQ(nearest_gpus(samples::hgx_h100(), i), (Indices{i}));
    const int first = i / 2 * 2;
    EXPECT_EQ(nearest_nics(samples::dgx_a100(), i), (Indices{first, first + 1}));
    EXPECT_EQ(nearest_gpus(samples::dgx_a100(), i), (Indices{first, first + 1}));
    EXPECT_EQ(nearest_nics(samples::two_gpus_share_a_nic(), i), (Indices{i / 2}));
    EXPECT_EQ(nearest_nics(samples::one_nic_for_eight_gpus(), i), (Indices{0}));
  }
  EXPECT_EQ(nearest_gpus(samples::one_nic_for_eight_gpus(), 0), (Indices{0}));
  EXPECT_EQ(nearest_gpus(samples::nic_on_other_socket(), 0), (Indices{0, 1, 2, 3}));
  EXPECT_EQ(nearest_nics(samples::two_nics_behind_one_uplink(), 3), (Indices{0, 1}));
  EXPECT_EQ(nearest_gpus(samples::two_nics_behind_one_uplink(), 1), (Indices{0}));
}

TEST(PcieDistance, OnlyGpusTakingPartCount) {
  const PcieDistances distances(samples::hgx_h100());
  EXPECT_EQ(distances.nearest_gpus(2, 4), (Indices{2}));
  EXPECT_EQ(distances.nearest_gpus(3, 2), (Indices{0, 1}));
  EXPECT_EQ(distances.nearest_gpus(7, 4), (Indices{0, 1, 2, 3}));
}

TEST(PcieDistance, NoNics) { EXPECT_TRUE(nearest_nics(samples::bare_node(2, 0), 1).empty()); }

}  // namespace
}  // namespace gradhaul
