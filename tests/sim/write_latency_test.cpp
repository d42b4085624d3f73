// One write on an idle path, stage by stage: when it arrives and when its sender learns of it.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/sim/cluster_examples.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

std::int64_t arrival_of_one(const Cluster& cluster, Bytes length, std::int64_t start = 0) {
  const WriteStream stream(cluster, {.length = length, .start = start});
  EXPECT_EQ(stream.arrived().size(), 1U);
  EXPECT_EQ(stream.done().size(), 1U);
  return stream.arrived().at(0);
}

// 50 GB/s are 20 ps a byte.
TEST(IdealWorld, AWriteTakesOneMicrosecondAndItsBytes) {
  Cluster cluster = ideal_cluster(2);
  cluster.network.topology.leaves = 1;
  for (const std::int64_t mtu : {256, 4096, 1 << 20}) {
    cluster.network.mtu = {mtu};
    for (const std::int64_t n : {1, 2, 255, 4096, 4097, 65'536, 1'000'003, 33'554'432}) {
      for (const std::int64_t start :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{77'777'777}}) {
        if (n / mtu > 10'000) continue;
        EXPECT_EQ(arrival_of_one(cluster, {n}, start), start + 1'000'000 + 20 * n)
            << n << " bytes at " << start << " ps in packets of " << mtu;
      }
    }
  }
}

// Acknowledgements and credits are free there: the sender knows when the last byte is there.
TEST(IdealWorld, TheSenderLearnsOfTheArrivalAtOnce) {
  Cluster cluster = ideal_cluster(2);
  cluster.network.topology.leaves = 1;
  const WriteStream stream(cluster, {.length = {10'000}, .writes = 3});
  EXPECT_EQ(stream.arrived(), (std::vector<std::int64_t>{1'200'000, 1'400'000, 1'600'000}));
  EXPECT_EQ(stream.done(), stream.arrived());
}

double ps_for(double bytes, double bytes_per_second) { return bytes / bytes_per_second * 1e12; }

// The stages of a write by RDMA of at most one MTU, below one switch at each end, over one cable or
// through one switch. On PCIe the first bit leaves a switch 125 ns after it came in, or 20 ns at a
// device; the slowest link serialises once.
struct OneWrite {
  double arrival = 0;
  double done = 0;
};

OneWrite stages(const Cluster& cluster, double n) {
  const Node& node = cluster.node;
  const NicModel& nic = node.nic;
  const double pcie = oracle::pcie_bytes({node.gpu.pcie->generation, 16}, 0.03);
  const double wire = static_cast<double>(cluster.network.link.bits_per_second) / 8;
  const double cable = 5'050.505 * cluster.network.node_cable_metres;
  const bool direct = cluster.network.topology.kind == TopologyKind::kBackToBack;
  const double way =
      direct ? cable : 2 * cable + static_cast<double>(cluster.network.switch_latency.ps);
  const double tlps = std::ceil(n / 256);
  double t =
      static_cast<double>((node.gpu.flag_latency + nic.post + nic.doorbell + nic.wqe_fetch).ps);
  t += 145'000 + ps_for(24 * std::ceil(n / 4096), pcie);  // read request
  t += static_cast<double>(node.gpu.read_latency.ps);
  t += 145'000 + ps_for(n + 20 * tlps, pcie);  // completions
  t += static_cast<double>(nic.transmit_latency.ps);
  t += way + ps_for(n + 26 + 16 + 4, wire);  // RETH in the first packet, immediate in the last
  t += static_cast<double>(nic.receive_latency.ps);
  OneWrite result;
  result.done = t + way + ps_for(30, wire) + static_cast<double>(nic.receive_latency.ps) +
                static_cast<double>(nic.completion.ps);
  t += 145'000 + ps_for(n + 24 * tlps, pcie);  // posted writes
  t += static_cast<double>((node.gpu.write_latency + nic.completion + node.gpu.flag_latency).ps);
  result.arrival = t;
  return result;
}

TEST(RdmaWrite, TakesTheSumOfItsStages) {
  for (const int generation : {4, 5}) {
    for (const bool direct : {true, false}) {
      Cluster cluster = bare_pair(generation, 200_Gbps, {4096});
      give_latencies(cluster.node);
      cluster.network.node_cable_metres = 7;
      cluster.network.switch_latency = 230_ns;
      if (!direct) {
        cluster.network.topology.kind = TopologyKind::kSingleSwitch;
        cluster.network.topology.leaves = 1;
      }
      for (const std::int64_t n : {2, 256, 257, 1000, 4095, 4096}) {
        const WriteStream stream(cluster, {.length = {n}});
        const OneWrite expected = stages(cluster, static_cast<double>(n));
        EXPECT_NEAR(static_cast<double>(stream.arrived().at(0)), expected.arrival, 8) << n;
        EXPECT_NEAR(static_cast<double>(stream.done().at(0)), expected.done, 8) << n;
      }
    }
  }
}

// Several packets follow each other: all but the last overlap on the stages before the narrow one.
TEST(RdmaWrite, OfManyPacketsAddsThemOnTheNarrowLinkAlone) {
  Cluster cluster = bare_pair(5, 100_Gbps, {4096});
  give_latencies(cluster.node);
  cluster.network.vl_buffer = {};
  const OneWrite one = stages(cluster, 4096);
  for (const int packets : {2, 3, 17, 64}) {
    // 80 ps a byte on the wire; the others of 4122 bytes go ahead of the last.
    const double expected = one.arrival + (packets - 1) * 4122 * 80.0;
    EXPECT_NEAR(static_cast<double>(arrival_of_one(cluster, {packets * 4096})), expected, 8);
  }
}

TEST(NvlinkWrite, TakesItsLatencyAndItsBytes) {
  Cluster cluster;
  cluster.node = bare_node(2, 5);
  give_latencies(cluster.node);
  cluster.ranks_per_node = 2;
  cluster.node.nvlink = Nvlink{400_GBps, 0.5, 700_ns};  // 5 ps a byte
  for (const std::int64_t n : {1, 4096, 1'000'000}) {
    EXPECT_EQ(arrival_of_one(cluster, {n}, 1000), 1000 + 700'000 + 5 * n);
  }
}

// No NVLink: trains of posted writes of 4096 bytes, GPU, switch, GPU.
TEST(PeerWriteOverPcie, TakesTheLinksAndTheGpusOwnLatency) {
  Cluster cluster;
  cluster.node = bare_node(2, 4);
  cluster.node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {"gpu0", "gpu1", "nic0", "nic1"}}};
  give_latencies(cluster.node);
  cluster.ranks_per_node = 2;
  cluster.node.pcie_settings.posted_data_credits = 100'000;
  cluster.node.pcie_settings.posted_header_credits = 100'000;
  const double pcie = oracle::pcie_bytes({4, 16}, 0.03);
  for (const double n : {100.0, 4096.0, 40'960.0, 1'024'000.0}) {
    const double expected = 145'000 + ps_for(n + 24 * std::ceil(n / 256), pcie) + 150'000;
    EXPECT_NEAR(static_cast<double>(arrival_of_one(cluster, {static_cast<std::int64_t>(n)})),
                expected, 5)
        << n;
  }
}

// A work request a microsecond is all this NIC takes.
TEST(Nic, TakesNoMoreWorkRequestsThanItsRate) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  cluster.node.nic.message_rate = 1'000'000;
  for (const int queue_pairs : {1, 3}) {
    const WriteStream stream(cluster, {.length = {64}, .writes = 50, .queue_pairs = queue_pairs});
    for (std::size_t i = 1; i < 50; ++i) {
      EXPECT_NEAR(static_cast<double>(stream.arrived()[i] - stream.arrived()[i - 1]), 1e6, 2);
    }
  }
}

}  // namespace
}  // namespace gradhaul
