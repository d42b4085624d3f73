#include "core/nccl_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gradhaul {
namespace {

using namespace literals;

// The graphs that NCCL's log of issue 1453 implies: 8 search channels of 24 GB/s, 16 thread blocks.
NcclRun h100_run(int nodes, NcclVersion version, double speed = 24, int channels = 8) {
  NcclRun run;
  run.version = version;
  run.nodes = nodes;
  run.ranks = 8 * nodes;
  run.compute_capability = 90;
  run.cpu = CpuVendor::kIntel;
  run.graphs.ring = run.graphs.tree = {channels, speed, speed};
  run.graphs.plain_tree = nodes > 1;
  run.graphs.nvlink = true;
  run.graphs.whole_lines = true;
  run.graphs.compute_channels = 16;
  return run;
}

double microseconds_of(const NcclRun& run, NcclAlgorithm algorithm, Protocol protocol, Bytes size) {
  for (const NcclEstimate& estimate : NcclTuner(run).estimates(size)) {
    if (estimate.algorithm == algorithm && estimate.protocol == protocol) {
      return estimate.time.microseconds();
    }
  }
  return -1;
}

std::string choice(const NcclRun& run, Bytes size) {
  const NcclEstimate best = NcclTuner(run).estimates(size).front();
  const char* const protocol = best.protocol == Protocol::kSimple ? "/simple"
                               : best.protocol == Protocol::kLl   ? "/ll"
                                                                  : "/ll128";
  return std::string(nccl_algorithm_name(best.algorithm)) + protocol;
}

double busbw(const NcclRun& run, NcclAlgorithm algorithm, Protocol protocol, Bytes size) {
  const double us = microseconds_of(run, algorithm, protocol, size);
  return static_cast<double>(size.count) / us / 1000 * 2 * (run.ranks - 1) / run.ranks;
}

// What NCCL 2.22.3 itself logged (NCCL issue 1453): 24 ranks on three H100 nodes.
TEST(NcclTuner, GivesWhatNcclLogged) {
  const NcclRun run = h100_run(3, NcclVersion::k2_22);
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kTree, Protocol::kLl, 128_B), 25.214764, 1e-6);
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kSimple, 8192_MiB), 86069.96875,
              0.01);
  EXPECT_EQ(choice(run, 128_B), "double_binary_tree/ll");
  EXPECT_EQ(choice(run, 8192_MiB), "ring/simple");
}

// 2.30 counts two steps less between nodes: (8.4 + 42 * 3.4 + 4 * 14) * 1.4 us.
TEST(NcclTuner, CountsStepsBetweenNodesByVersion) {
  const NcclRun run = h100_run(3, NcclVersion::k2_30);
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kTree, Protocol::kLl, 128_B), 25.214764, 1e-6);
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kSimple, 8192_MiB), 86040.30,
              0.02);
}

// 2.22 takes 28 us a hop for Simple trees and no base; 2.30 8.4 + 2 (7 * 4 + 1 * 14).
TEST(NcclTuner, TakesOtherTreeLatenciesByVersion) {
  const Bytes tiny = 8_B;
  const auto simple_tree = [&](NcclVersion version) {
    return microseconds_of(h100_run(2, version), NcclAlgorithm::kTree, Protocol::kSimple, tiny);
  };
  EXPECT_NEAR(simple_tree(NcclVersion::k2_22), 2 * 8 * 28, 0.001);
  EXPECT_NEAR(simple_tree(NcclVersion::k2_30), 8.4 + 2 * (7 * 4 + 14), 0.001);
}

// 8 H100 in one node, 16 channels of 24 GB/s: 6.6 + 14 * 0.6 us; LL until 2 MiB, LL128 to 32 MiB.
TEST(NcclTuner, SwitchesProtocolsInANode) {
  const NcclRun run = h100_run(1, NcclVersion::k2_30, 24, 16);
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kLl, 8_B), 15.0, 0.01);
  EXPECT_EQ(choice(run, 8_B), "ring/ll");
  EXPECT_EQ(choice(run, 2_MiB), "ring/ll");
  EXPECT_EQ(choice(run, 4_MiB), "ring/ll128");
  EXPECT_EQ(choice(run, 32_MiB), "ring/ll128");
  EXPECT_EQ(choice(run, 64_MiB), "ring/simple");
  EXPECT_NEAR(busbw(run, NcclAlgorithm::kRing, Protocol::kSimple, 1024_MiB), 380, 2);
}

// 8, 64 and 512 H100, and 256 A100 on AMD: 6.8 + 2 (7 * 0.6 + log2(nodes) * 5.0) us.
TEST(NcclTuner, TreesGrowWithTheLogarithmOfNodes) {
  for (const auto& [nodes, us] : {std::pair{2, 25.2}, {8, 45.2}, {64, 75.2}}) {
    const NcclRun run = h100_run(nodes, NcclVersion::k2_30, 48);
    EXPECT_EQ(choice(run, 8_B), "double_binary_tree/ll");
    EXPECT_NEAR(NcclTuner(run).estimates(8_B).front().time.microseconds(), us, 0.01);
  }
  NcclRun a100 = h100_run(32, NcclVersion::k2_30);
  a100.compute_capability = 80;
  a100.cpu = CpuVendor::kAmd;
  EXPECT_NEAR(NcclTuner(a100).estimates(8_B).front().time.microseconds(), 65.2, 0.01);
}

// Worked out by another implementation for 2, 8 and 64 nodes of eight H100 whose rings and balanced
// trees have 16 channels of 24 GB/s: the first size of those that are 64 B times a power of two.
TEST(NcclTuner, SwitchesFromTreesToRings) {
  const auto smallest_with = [](const NcclRun& run, const std::string& wanted) {
    Bytes size{64};
    while (choice(run, size) != wanted && size < 65536_MiB) size = size * 2;
    return size.count;
  };
  const auto nodes = [](int count) {
    NcclRun run = h100_run(count, NcclVersion::k2_30, 24, 16);
    run.graphs.plain_tree = false;
    return run;
  };
  const NcclRun two = nodes(2);
  EXPECT_EQ(smallest_with(two, "double_binary_tree/ll128"), (256_KiB).count);
  EXPECT_EQ(smallest_with(two, "ring/ll128"), (32_MiB).count);
  EXPECT_EQ(smallest_with(two, "ring/simple"), (256_MiB).count);
  const NcclRun eight = nodes(8);
  EXPECT_EQ(smallest_with(eight, "double_binary_tree/ll128"), (256_KiB).count);
  EXPECT_EQ(smallest_with(eight, "double_binary_tree/simple"), (512_MiB).count);
  EXPECT_EQ(smallest_with(eight, "ring/simple"), (2048_MiB).count);
  const NcclRun many = nodes(64);
  EXPECT_EQ(smallest_with(many, "ring/simple"), (16384_MiB).count);
}

// NCCL's bus bandwidth of NVLS in an H100 node, 8 heads of 40 GB/s: 2.22 40 * 8 * 5/6 * 14/8, 2.30
// 40 * 0.85 * 7/8 * 2 * 8; measured: 476 GB/s (nccl-tests issue 290).
TEST(NcclTuner, ExpectsMoreThanLinksOfNvls) {
  for (const auto& [version, expected] :
       {std::pair{NcclVersion::k2_22, 40 * 8 * 5 / 6.0 * 14 / 8}, {NcclVersion::k2_30, 476.0}}) {
    NcclRun run = h100_run(1, version, 30, 12);
    run.graphs.nvls = {8, 40, 60};
    EXPECT_NEAR(busbw(run, NcclAlgorithm::kNvls, Protocol::kSimple, 65536_MiB), expected, 0.1);
    EXPECT_EQ(choice(run, 65536_MiB), "nvls/simple");
    run.reduction = Reduction::kAvg;  // not in NVSwitch
    EXPECT_EQ(choice(run, 65536_MiB), "ring/simple");
  }
}

TEST(NcclTuner, HasNoLl128WhereLinesMayBeCut) {
  NcclRun run = h100_run(2, NcclVersion::k2_30);
  EXPECT_GT(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kLl128, 1_MiB), 0);
  run.graphs.whole_lines = false;
  EXPECT_EQ(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kLl128, 1_MiB), -1);
  run.graphs.whole_lines = true;
  run.version = NcclVersion::k2_22;
  run.compute_capability = 100;  // unknown to 2.22
  EXPECT_EQ(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kLl128, 1_MiB), -1);
}

// 512 threads of a Simple ring want 64 B each; 512 of an LL ring 8 B for each rank.
TEST(NcclTuner, TakesFewerChannelsForSmallMessages) {
  const NcclRun run = h100_run(2, NcclVersion::k2_30);
  const auto channels = [&](Protocol protocol, Bytes size) {
    for (const NcclEstimate& estimate : NcclTuner(run).estimates(size)) {
      if (estimate.algorithm == NcclAlgorithm::kRing && estimate.protocol == protocol) {
        return estimate.channels;
      }
    }
    return 0;
  };
  EXPECT_EQ(channels(Protocol::kSimple, 8_B), 1);
  EXPECT_EQ(channels(Protocol::kSimple, Bytes{5 * 512 * 64}), 5);
  EXPECT_EQ(channels(Protocol::kSimple, 1024_MiB), 16);
  EXPECT_EQ(channels(Protocol::kLl, Bytes{3 * 512 * 8 * 16}), 3);
}

// Ring: 7 steps of 3.4 us and all channels' speed x 8 / 7; broadcast is a pipeline.
TEST(NcclTuner, KnowsTheOtherCollectives) {
  NcclRun run = h100_run(1, NcclVersion::k2_30, 24, 16);
  run.collective = Collective::kAllGather;
  const double gigabyte = 1e9 / (1000 * 384.0 * 8 / 7);
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kSimple, Bytes{1'000'000'000}),
              8.4 + 7 * 3.4 + gigabyte, 0.01);
  EXPECT_EQ(microseconds_of(run, NcclAlgorithm::kTree, Protocol::kSimple, 1024_MiB), -1);
  run.collective = Collective::kBroadcast;
  EXPECT_NEAR(microseconds_of(run, NcclAlgorithm::kRing, Protocol::kSimple, Bytes{1'000'000'000}),
              8.4 + 3.4 + 1e9 / (1000 * 384.0), 0.01);
  EXPECT_FALSE(nccl_tunes(Collective::kAllToAll));
}

}  // namespace
}  // namespace gradhaul
