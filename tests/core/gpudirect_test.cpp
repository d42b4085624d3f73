// NCCL's policy on GPUDirect by distance class and GPU generation, as src/graph/paths.cc has it.

#include "core/gpudirect.h"

#include <gmock/gmock.h>

#include "core/placement.h"
#include "tests/core/sample_nodes.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr GpuDirectUse kDirect{true, true};
constexpr GpuDirectUse kStaged{false, false};
constexpr GpuDirectUse kWritesAlone{false, true};
constexpr int kPascal = 60;
constexpr int kVolta = 70;
constexpr int kAmpere = 80;
constexpr int kHopper = 90;

TEST(NcclGpuDirect, GoesAsFarAsOneRootPort) {
  for (const int capability : {0, kPascal, kVolta, kAmpere, kHopper}) {
    for (const bool nvlink : {false, true}) {
      for (const PcieDistance far : {PcieDistance::kSameSocket, PcieDistance::kOtherSocket}) {
        EXPECT_EQ(nccl_gpudirect(far, capability, nvlink, 8), kStaged);
      }
    }
  }
  for (const PcieDistance near : {PcieDistance::kSameSwitch, PcieDistance::kSameRootPort}) {
    EXPECT_EQ(nccl_gpudirect(near, kAmpere, false, 8), kDirect);
    EXPECT_EQ(nccl_gpudirect(near, kHopper, true, 8), kDirect);
    EXPECT_EQ(nccl_gpudirect(near, 0, false, 8), kDirect) << "taken for a recent one";
  }
}

TEST(NcclGpuDirect, ReadsNoOldGpuThatHasPeersButNoNvlink) {
  for (const int capability : {kPascal, kVolta}) {
    EXPECT_EQ(nccl_gpudirect(PcieDistance::kSameSwitch, capability, false, 8), kWritesAlone);
    EXPECT_EQ(nccl_gpudirect(PcieDistance::kSameSwitch, capability, true, 8), kDirect);
    EXPECT_EQ(nccl_gpudirect(PcieDistance::kSameSwitch, capability, false, 1), kDirect);
  }
}

// A GPU and a NIC at each socket's root ports, and a pair below a switch.
Node mixed_node() {
  Node node = samples::bare_node(2, 1);
  node.gpu.pcie = PcieLink{};
  node.pcie = {samples::pcie_switch(0, "socket0", {samples::gpu(0), samples::nic(0)}),
               {"", "socket0", {}, {samples::gpu(1)}}};
  return node;
}

TEST(GpuDirectPairs, AskEachPairUnlessItIsSettled) {
  const Node node = mixed_node();
  const GpuDirectPairs by_policy(node, GpuDirect::kAuto);
  EXPECT_EQ(by_policy.of(0, 0), kDirect);
  EXPECT_EQ(by_policy.of(1, 0), kStaged);
  EXPECT_EQ(GpuDirectPairs(node, GpuDirect::kOn).of(1, 0), kDirect);
  EXPECT_EQ(GpuDirectPairs(node, GpuDirect::kOff).of(0, 0), kStaged);
}

TEST(GpuDirectNotes, SayWhoIsStagedAndWhy) {
  Node node = mixed_node();
  EXPECT_THAT(gpudirect_notes(node, GpuDirect::kOn, 2), IsEmpty());
  EXPECT_THAT(gpudirect_notes(node, GpuDirect::kAuto, 1), IsEmpty());
  EXPECT_THAT(gpudirect_notes(node, GpuDirect::kAuto, 2),
              ElementsAre("gpudirect auto: data of gpu1 of a node passes host memory: the nearest "
                          "NIC is beyond the root complex of the same socket (PHB), and NCCL goes "
                          "direct only below one root port"));
  EXPECT_THAT(gpudirect_notes(node, GpuDirect::kOff, 2), ElementsAre(HasSubstr("host memory")));
  node.gpu.compute_capability = kVolta;
  EXPECT_THAT(gpudirect_notes(node, GpuDirect::kAuto, 1),
              ElementsAre(HasSubstr("what gpu0 of a node send passes host memory")));
}

// The hop says at each end what the policy says of that end's GPU and NIC.
TEST(Placement, StagesEachEndByItself) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.node = mixed_node();
  cluster.ranks_per_node = 2;
  cluster.network.topology.leaves = 1;
  Communication communication;
  communication.channels = 1;
  for (const GpuDirect setting : {GpuDirect::kOn, GpuDirect::kOff, GpuDirect::kAuto}) {
    communication.gpudirect = setting;
    const Placement placement = place(cluster, communication, Collective::kSendRecv);
    const Hop hop = hop_between(placement, cluster, 0, 1, 2);
    EXPECT_EQ(hop.staged_out, setting != GpuDirect::kOn);
    EXPECT_EQ(hop.staged_in, setting == GpuDirect::kOff);
  }
}

}  // namespace
}  // namespace gradhaul
