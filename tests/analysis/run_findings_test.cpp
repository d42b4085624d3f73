// What an NCCL log says otherwise than the prediction: each finding with the line it was seen on,
// and none where the log agrees or is silent.

#include "analysis/run_findings.h"

#include <gmock/gmock.h>

#include "tests/analysis/run_reading.h"

namespace gradhaul::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ComparedRun predicted_run() {
  return run_of(
      whole_text(std::string(GRADHAUL_SOURCE) + "/tests/golden/predicted_all_reduce.json"));
}

// "layer: text" of each finding for a log of these messages, one a line.
std::vector<std::string> findings(const std::vector<std::string>& messages,
                                  const ComparedRun& predicted = predicted_run()) {
  std::string text;
  for (const std::string& message : messages) text += "host:1:2 [0] NCCL INFO " + message + "\n";
  std::vector<std::string> result;
  for (const RunFinding& finding : findings_of(predicted, run_of(text))) {
    result.push_back(finding.layer + ": " + finding.text);
  }
  return result;
}

TEST(Findings, AreNoneWhereTheRunIsAsPredicted) {
  EXPECT_THAT(findings({"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>",
                        "Using network IB", "Channel 00/02 : 0 1 2 3", "Channel 01/02 : 0 3 2 1",
                        "Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
                        "Channel 01/0 : 1[1] -> 2[0] [send] via NET/IB/1/GDRDMA",
                        "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
                        "Connected all rings, use ring PXN 0 GDR 1",
                        "2 coll channels, 0 nvls channels, 2 p2p channels"}),
              IsEmpty());
  EXPECT_THAT(findings({"Bootstrap : Using eth0:10.0.0.1<0>"}), IsEmpty());
}

TEST(Findings, Sockets) {
  EXPECT_THAT(
      findings({"Using network Socket", "Channel 00/0 : 3[1] -> 0[0] [receive] via NET/Socket/0",
                "Channel 01/0 : 3[1] -> 0[0] [receive] via NET/Socket/0"}),
      ElementsAre(AllOf(HasSubstr("network: data between nodes went over TCP sockets"),
                        HasSubstr("line 2: \"Channel 00/0"), HasSubstr("and 1 more lines"))));
}

TEST(Findings, WithoutGpuDirect) {
  const auto staged = findings({"NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
                                "Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0",
                                "Channel 01/0 : 3[1] -> 0[0] [receive] via NET/IB/1/GDRDMA"});
  EXPECT_THAT(staged, ElementsAre(AllOf(HasSubstr("GPU to NIC: without GPUDirect on 1 of 2"),
                                        HasSubstr("line 2:"), HasSubstr("line 1:"))));
  EXPECT_THAT(findings({"Connected all rings, use ring PXN 0 GDR 0"}),
              ElementsAre(HasSubstr("(line 1: \"GDR 0\")")));
  ComparedRun off = predicted_run();
  off.effective["communication"]["gpudirect"] = false;
  EXPECT_THAT(findings({"Connected all rings, use ring PXN 0 GDR 0"}, off), IsEmpty());
}

TEST(Findings, FewerNics) {
  EXPECT_THAT(findings({"NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"}),
              ElementsAre(HasSubstr("NICs: NCCL found 1 NIC in a node, the prediction uses 2 "
                                    "(line 1: mlx5_0:1/IB)")));
  EXPECT_THAT(findings({"Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA",
                        "Connected all rings"}),
              ElementsAre(HasSubstr("connections use 1 NIC of a node (0; line 1)")));
  // A log that ends before the rings are connected does not show all of them.
  EXPECT_THAT(findings({"Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA"}), IsEmpty());
}

TEST(Findings, ChannelsRingsAndSharedMemory) {
  EXPECT_THAT(findings({"16 coll channels, 0 nvls channels"}),
              ElementsAre(HasSubstr("channels: NCCL has 16 channels (line 1), the prediction 2")));
  // 0 1 2 3 turned is 2 3 0 1; 0 2 1 3 is none of the predicted ones.
  EXPECT_THAT(findings({"Channel 00/02 : 2 3 0 1", "Channel 01/02 : 0 2 1 3"}),
              ElementsAre(HasSubstr("rings: 1 of NCCL's 2 rings go otherwise than any predicted "
                                    "one (line 2: 0 2 1 3)")));
  EXPECT_THAT(findings({"Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct"}),
              ElementsAre(HasSubstr("within a node: GPUs of one node reached each other through "
                                    "host memory")));
}

TEST(Findings, SettingsAndWarningsAreQuotedOnce) {
  const std::string warning =
      "host:1:2 [0] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_modify_qp failed\n";
  const ComparedRun run = run_of(
      "host:1:2 [0] NCCL INFO NCCL_NET_GDR_LEVEL set by environment to 0.\n" + warning + warning);
  const auto found = findings_of(predicted_run(), run);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].text, "line 2 warns: \"Call to ibv_modify_qp failed\"");
  EXPECT_EQ(found[1].text, "line 1: \"NCCL_NET_GDR_LEVEL set by environment to 0.\"");
}

TEST(Findings, WhatTheTunerChose) {
  const std::string row = "1000000 250000 float sum -1 100.0 10.00 15.00 0 100.0 10.00 15.00 0\n";
  const std::string said =
      "host:1:2 [0] NCCL INFO AllReduce: 1000000 Bytes -> Algo TREE proto LL "
      "channel{Lo..Hi}={0..3}\n";
  const auto found = findings_of(predicted_run(), run_of("# all_reduce_perf\n" + said + row));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, HasSubstr("at 1 size (line 2: double_binary_tree with ll"));
}

}  // namespace
}  // namespace gradhaul::testing
