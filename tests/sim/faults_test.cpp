// What is wrong in a cluster, from closed forms of the part that is left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/busbw.h"
#include "core/infiniband_framing.h"
#include "sim/predict.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/random_nodes.h"
#include "tests/sim/same_prediction.h"
#include "tests/sim/task_examples.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)
using testing::StartsWith;

// One message of each rank to the next, in one slice.
PredictionRequest one_message(const Cluster& cluster, Bytes size) {
  PredictionRequest request = request_for(cluster, size);
  request.workload.collective = Collective::kSendRecv;
  request.communication.channels = 1;
  request.communication.slot_size = size;
  return request;
}

// 1 us + n / rate to the picosecond in the ideal world, and with it n / rate of the kernel. Out of
// a slow link into a faster one a switch has to store each packet: the last one of 1 MB, 576 bytes,
// waits for what is left of the one before, 4096 bytes that take 81.92 ns and began 46.08 ns ago,
// and then takes 11.52 ns itself.
TEST(Faults, SlowLinksAndKernelsTakeTheirTime) {
  Cluster cluster = ideal_cluster(4);
  const auto time = [&] { return predict(one_message(cluster, {1'000'000})).rows.at(0).time; };
  const Duration stored = 81'920_ps - 46'080_ps + 11'520_ps;
  EXPECT_EQ(time(), 1_us + 20_us);
  cluster.faults.links = {{"node2.nic0", 100_Gbps, {}, {}}};
  EXPECT_EQ(time(), 1_us + 80_us + stored);
  cluster.node.gpu.reduce_bandwidth = 25_GBps;
  EXPECT_EQ(time(), 1_us + 80_us + stored + 40_us);
  // From node 2 into node 3's healthy kernel, and from node 3 into node 0's slow one; what takes
  // longer counts.
  cluster.faults.gpus = {{0, 0, 2}};
  EXPECT_EQ(time(), 1_us + 80_us + stored + 40_us);
  cluster.faults.gpus = {{0, 0, 4}};
  EXPECT_EQ(time(), 1_us + 20_us + 160_us);
  cluster.faults.gpus = {{2, 0, 1.5}};
  EXPECT_EQ(time(), 1_us + 80_us + 60_us);
}

// Of a task that runs on three GPUs, the straggler ends last, and by its factor.
TEST(Faults, StragglersComputeAsSlowly) {
  Cluster cluster = ideal_cluster(3);
  cluster.faults.gpus = {{1, 0, 1.25}};
  TaskGraph graph;
  add_computation(graph, {0, 1, 2}, 40_us);
  EXPECT_EQ(run_tasks(cluster, graph).end, 50_us);
  cluster.faults.gpus = {};
  EXPECT_EQ(run_tasks(cluster, graph).end, 40_us);
}

// A ring goes no faster than its slowest link: busbw is what that carries of payload.
TEST(Faults, OneSlowPortHoldsTheWholeRing) {
  Cluster cluster = paired_cluster(6, 1);
  cluster.network.topology.leaves = 1;
  PredictionRequest request = request_for(cluster, 32_MiB);
  request.communication.channels = 2;
  const ResultRow healthy = predict(request).rows.at(0);
  request.cluster.faults.links = {{"node4.nic0", 100_Gbps, {}, {}}};
  const ResultRow row = predict(request).rows.at(0);
  const double payload = 12.5 * 4096 / (4096 + kInfinibandOverhead.count);
  const double bound = payload * 1e9;
  const double reached = busbw(row.collective, row.ranks, row.size, row.time);
  EXPECT_LE(reached, bound);
  EXPECT_GE(reached, 0.95 * bound);
  EXPECT_EQ(row.limited_by, "node4.nic0");
  EXPECT_GT(row.time.ps, 3 * healthy.time.ps);
}

// As the narrow link of PCIe's own closed form (tests/sim/path_oracle.h), less what headers take.
TEST(Faults, NarrowPcieLinkHoldsTheRing) {
  Cluster cluster = paired_cluster(4, 1);
  cluster.network.topology.leaves = 1;
  cluster.faults.links = {{"node1.nic0.pcie", {}, 8, 3}};
  PredictionRequest request = request_for(cluster, 24_MiB);
  request.communication.channels = 2;
  const ResultRow row = predict(request).rows.at(0);
  const double raw = oracle::pcie_bytes({3, 8}, cluster.node.pcie_settings.dllp_overhead);
  const double reached = busbw(row.collective, row.ranks, row.size, row.time);
  EXPECT_LE(reached, raw * 256 / (256 + 20));
  EXPECT_GE(reached, raw * 256 / (256 + 24) * 0.9);
  EXPECT_EQ(row.limited_by, "node1.nic0.pcie");
}

TEST(Faults, StragglerHoldsTheRing) {
  Cluster cluster = paired_cluster(4, 1);
  cluster.network.topology.leaves = 1;
  cluster.node.gpu.reduce_bandwidth = 10_GBps;
  cluster.faults.gpus = {{2, 0, 4}};
  PredictionRequest request = request_for(cluster, 32_MiB);
  request.communication.channels = 1;
  const ResultRow row = predict(request).rows.at(0);
  EXPECT_EQ(row.limited_by, "node2.gpu0.reduce");
  const double reached = busbw(row.collective, row.ranks, row.size, row.time);
  EXPECT_LE(reached, 2.5e9);
  EXPECT_GE(reached, 0.95 * 2.5e9);
}

// A fault that leaves all is none.
TEST(Faults, NothingLostIsNothingChanged) {
  PredictionRequest request = request_for(paired_cluster(3, 2), 2_MiB);
  request.cluster.network.topology.leaves = 1;
  const Prediction healthy = predict(request);
  request.cluster.faults.links = {{"node1.nic1", 400_Gbps, {}, {}},
                                  {"node0.gpu1.pcie", {}, 16, 5},
                                  {"node2.gpu0.nvlink", 450_GBps, {}, {}}};
  request.cluster.faults.gpus = {{1, 1, 1}};
  const Prediction same = predict(request);
  EXPECT_EQ(same.digest, healthy.digest);
  EXPECT_EQ(same.rows.at(0).time, healthy.rows.at(0).time);
}

// Parts that differ by a fault do not stand for each other; those with the same fault do.
TEST(Faults, SymmetryKnowsThem) {
  Cluster cluster = one_switch(bare_node(1, 5), 4, 400_Gbps);
  give_latencies(cluster.node);
  cluster.node.gpu.reduce_bandwidth = 37_GBps;
  const auto parts = [&](const Faults& faults) {
    cluster.faults = faults;
    PredictionRequest request = request_for(cluster, Bytes{4 * 2 * 2 * 50'000});
    request.communication.channels = 2;
    request.communication.slot_size = 64_KiB;
    const Prediction folded = predict(request);
    expect_same(folded, in_full(request));
    return folded.cost.equal_parts;
  };
  EXPECT_EQ(parts({}), 4);
  EXPECT_EQ(parts({{{"node1.nic0", 100_Gbps, {}, {}}}, {}}), 1);
  EXPECT_EQ(parts({{{"node1.nic0", 100_Gbps, {}, {}}, {"node3.nic0", 100_Gbps, {}, {}}}, {}}), 2);
  EXPECT_EQ(parts({{{"node1.nic0.pcie", {}, 4, {}}}, {}}), 1);
  // Nothing crosses the uplink of a switch that holds both.
  EXPECT_EQ(parts({{{"node1.sw0", {}, 4, {}}}, {}}), 4);
  EXPECT_EQ(parts({{}, {{0, 0, 2}}}), 1);
  EXPECT_EQ(parts({{}, {{0, 0, 2}, {2, 0, 2}}}), 2);
}

// With and without skipping, to the last number.
TEST(Faults, RandomOnesStayExact) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Draws draws(seed + 500);
    Cluster cluster = paired_cluster(static_cast<int>(draws.between(2, 4)), 2);
    cluster.network.topology.leaves = 1;
    const auto name = [&](const char* kind, const char* behind) {
      return "node" + std::to_string(draws.below(cluster.nodes)) + "." + kind +
             std::to_string(draws.below(2)) + behind;
    };
    const BitRate wire{draws.between(50, 400) * 1'000'000'000};
    const BitRate nvlink{draws.between(90, 450) * 8'000'000'000};
    const int generation = static_cast<int>(draws.between(3, 5));
    cluster.faults.links.push_back({name("nic", ""), wire, {}, {}});
    cluster.faults.links.push_back({name("gpu", ".pcie"), {}, 8, generation});
    cluster.faults.links.push_back({name("gpu", ".nvlink"), nvlink, {}, {}});
    cluster.faults.gpus = {{0, 1, 1 + 0.25 * static_cast<double>(draws.below(8))}};
    PredictionRequest request = request_for(cluster, {draws.between(1, 6) * 1'000'000});
    request.communication.slot_size = 64_KiB;
    request.communication.channels = 2 * static_cast<int>(draws.between(1, 2));
    expect_same(predict(request), in_full(request));
  }
}

// The cheap fidelities see them too: where one port decides, they say what packets say.
TEST(Faults, ShowInAllFidelities) {
  Cluster cluster = paired_cluster(6, 1);
  cluster.network.topology.leaves = 1;
  cluster.faults.links = {{"node3.nic0", 100_Gbps, {}, {}}};
  PredictionRequest request = request_for(cluster, 32_MiB);
  request.communication.channels = 2;
  const double packets = row_us(predict(request));
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    const Prediction cheap = predict(request);
    EXPECT_NEAR(row_us(cheap), packets, 0.03 * packets);
    EXPECT_EQ(cheap.rows.at(0).limited_by, "node3.nic0");
  }
  request.cluster.faults = {{}, {{3, 0, 8}}};
  request.fidelity = Fidelity::kPacket;
  const double straggler = row_us(predict(request));
  for (const Fidelity fidelity : {Fidelity::kFlow, Fidelity::kAnalytic}) {
    request.fidelity = fidelity;
    EXPECT_NEAR(row_us(predict(request)), straggler, 0.03 * straggler);
  }
}

}  // namespace
}  // namespace gradhaul
