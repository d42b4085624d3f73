// What headers leave of a link, on wires and on PCIe, in the limit of long messages: rates between
// two points of a long stream, so that filling and draining count in neither.

#include <gtest/gtest.h>

#include "tests/sim/cluster_examples.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

// 4 MiB messages: their 20 bytes of RETH and immediate weigh 5e-6.
constexpr Bytes kLong{4 << 20};

TEST(InfinibandFraming, LeavesPayloadOverPayloadAnd26Bytes) {
  const struct {
    std::int64_t mtu;
    double efficiency;
  } cases[] = {{4096, 0.99369}, {2048, 0.98746}, {1024, 0.97524}};
  for (const auto& c : cases) {
    ASSERT_NEAR(static_cast<double>(c.mtu) / static_cast<double>(c.mtu + 26), c.efficiency, 5e-6);
    const double rate = steady_rate(bare_pair(5, 400_Gbps, {c.mtu}), kLong, 1, 5);
    EXPECT_NEAR(rate / 50e9, c.efficiency, 2e-5);
    // To the last byte: 26 a packet and 20 a message.
    const double packets = static_cast<double>(kLong.count / c.mtu);
    const double wire = static_cast<double>(kLong.count) + 26 * packets + 20;
    EXPECT_NEAR(rate, 50e9 * static_cast<double>(kLong.count) / wire, 50e9 * 1e-9);
  }
}

// A global route header is 40 bytes more.
TEST(InfinibandFraming, BetweenSubnetsLeavesPayloadOverPayloadAnd66Bytes) {
  Cluster cluster = bare_pair(5, 400_Gbps, {4096});
  cluster.network.grh = true;
  const double packets = static_cast<double>(kLong.count) / 4096;
  const double wire = static_cast<double>(kLong.count) + 66 * packets + 20;
  const double rate = steady_rate(cluster, kLong, 1, 5);
  EXPECT_NEAR(rate / 50e9, 0.98414, 2e-5);
  EXPECT_NEAR(rate, 50e9 * static_cast<double>(kLong.count) / wire, 50e9 * 1e-9);
}

TEST(InfinibandFraming, ShortMessagesPayForRethAndImmediate) {
  const double rate = steady_rate(bare_wire(400_Gbps, {4096}), {1000}, 100, 1100);
  EXPECT_NEAR(rate, 50e9 * 1000 / (1000 + 26 + 16 + 4), 50e9 * 1e-8);
}

// A network that is faster than any PCIe, and buffers that never fill: what binds is PCIe.
Cluster pcie_bound(int generation) {
  Cluster cluster = bare_pair(generation, 1600_Gbps, {4096});
  cluster.network.vl_buffer = {};
  cluster.node.nic.transmit_buffer = {64 << 20};
  cluster.node.pcie_settings.posted_data_credits = 100'000;
  cluster.node.pcie_settings.posted_header_credits = 100'000;
  return cluster;
}

// The sender learns when the far NIC has the data, before it is written to memory: the rate of the
// reads. The receiver's arrivals tell the rate of the writes.
struct PcieRates {
  double reads = 0;
  double writes = 0;
};

PcieRates pcie_rates(const Cluster& cluster) {
  const Bytes length{1 << 20};
  return {steady_rate(cluster, length, 2, 10, StreamEnd::kDone),
          steady_rate(cluster, length, 2, 10, StreamEnd::kArrived)};
}

TEST(PcieFraming, LimitsReadsAndWritesByWhatHeadersLeave) {
  const struct {
    int generation;
    std::int64_t max_payload;
    double dllp_overhead;
    double write_gigabits;
    double read_gigabits;
  } cases[] = {{4, 256, 0.03, 223.54, 226.78}, {4, 128, 0.03, 205.89, 211.46},
               {4, 512, 0.03, 233.55, 235.31}, {3, 256, 0.03, 111.77, 113.39},
               {5, 256, 0.03, 447.09, 453.56}, {4, 256, 0, 230.46, 252.06 * 256 / 276}};
  for (const auto& c : cases) {
    Cluster cluster = pcie_bound(c.generation);
    cluster.node.pcie_settings.max_payload = {c.max_payload};
    cluster.node.pcie_settings.dllp_overhead = c.dllp_overhead;
    const PcieRates rates = pcie_rates(cluster);
    EXPECT_NEAR(rates.writes * 8e-9, c.write_gigabits, 0.01) << c.generation << c.max_payload;
    EXPECT_NEAR(rates.reads * 8e-9, c.read_gigabits, 0.01) << c.generation << c.max_payload;
  }
}

// The NIC straight at the socket, the GPU below a switch: the root complex passes TLPs on in pieces
// of 64 bytes, whose headers then weigh more.
TEST(PcieFraming, PaysForTlpsThatTheRootComplexSplits) {
  Cluster cluster = pcie_bound(4);
  cluster.node.pcie = {{"sw0", "socket0", PcieLink{4, 16}, {"gpu0"}},
                       {"", "socket0", std::nullopt, {"nic0"}}};
  const PcieRates whole = pcie_rates(cluster);
  EXPECT_NEAR(whole.reads * 8e-9, 226.78, 0.01);
  EXPECT_NEAR(whole.writes * 8e-9, 223.54, 0.01);
  cluster.node.root_complex.tlp_split = Bytes{64};
  const PcieRates split = pcie_rates(cluster);
  EXPECT_NEAR(split.reads * 8e-9, 186.29, 0.01);
  EXPECT_NEAR(split.writes * 8e-9, oracle::pcie_bytes({4, 16}, 0.03) * 8e-9 * 64 / 88, 0.01);
}

TEST(PcieFraming, TheNarrowestLinkOfTheTreeCounts) {
  Cluster cluster = pcie_bound(5);
  cluster.node.pcie = {{"sw0", "socket0", PcieLink{3, 8}, {"gpu0"}},
                       {"", "socket0", PcieLink{4, 8}, {"nic0"}}};
  const PcieRates rates = pcie_rates(cluster);
  const double uplink = oracle::pcie_bytes({3, 8}, 0.03);
  EXPECT_NEAR(rates.reads, uplink * 256 / 276, uplink * 1e-4);
  EXPECT_NEAR(rates.writes, uplink * 256 / 280, uplink * 1e-4);
}

// Gen3 x16 can't feed a 200 Gb/s NIC, Gen4 x16 can.
TEST(PcieFraming, DecidesWhichNicCanBeFed) {
  Cluster cluster = bare_pair(3, 200_Gbps, {4096});
  EXPECT_NEAR(steady_rate(cluster, {1 << 20}, 2, 10) * 8e-9, 111.77, 0.01);
  cluster = bare_pair(4, 200_Gbps, {4096});
  EXPECT_NEAR(steady_rate(cluster, {1 << 20}, 2, 10) * 8e-9, 198.74, 0.01);
  cluster = bare_pair(4, 400_Gbps, {4096});
  EXPECT_NEAR(steady_rate(cluster, {1 << 20}, 2, 10) * 8e-9, 223.54, 0.01);
}

}  // namespace
}  // namespace gradhaul
