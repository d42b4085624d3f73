// Windows of every kind: throughput is min(B, W / RTT), below the knee, at it and above. Round
// trips are worked out here from the links' constants, by the rules at the head of
// sim/packet_engine.h.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/sim/cluster_examples.h"
#include "tests/sim/path_oracle.h"
#include "tests/sim/write_stream.h"

namespace gradhaul {
namespace {

using namespace examples;  // NOLINT(google-build-using-namespace)

constexpr Bytes kLength{1 << 20};
constexpr double kClose = 1e-3;

double stream_rate(const Cluster& cluster, int messages = 6) {
  return steady_rate(cluster, kLength, 3, 3 + messages);
}

// Time at which a PCIe credit is back after its TLP left is credit_loop, by definition, where the
// far end passes on at once. Window: header credits, or data credits of 16 bytes.
TEST(PostedCredits, BoundWritesByWindowOverRoundTrip) {
  const double link = oracle::pcie_bytes({4, 16}, 0.03) * 256 / 280;  // 27.94 GB/s
  const struct {
    int header;
    int data;
    double loop_ns;
  } cases[] = {
      {64, 320, 200},   // 25.6 GB/s of a Xeon C5500's root port, by data
      {64, 320, 300},   // 17.07
      {64, 320, 500},   // 10.24
      {16, 2000, 200},  // by headers
      {4, 2000, 500},   {1, 2000, 300},  {128, 16, 400},
      {128, 47, 200},   {24, 2000, 200},  // above the knee
      {128, 1024, 200}, {60, 960, 600},
  };
  for (const auto& c : cases) {
    Cluster cluster = bare_pair(4, 1600_Gbps, {4096});
    cluster.network.vl_buffer = {};
    cluster.node.pcie_settings.posted_header_credits = c.header;
    cluster.node.pcie_settings.posted_data_credits = c.data;
    cluster.node.pcie_settings.credit_loop = {static_cast<std::int64_t>(c.loop_ns * 1000)};
    const double window = 256.0 * std::min(c.header, c.data / 16);
    const double expected = std::min(link, window / (c.loop_ns * 1e-9));
    EXPECT_NEAR(stream_rate(cluster), expected, expected * kClose)
        << c.header << " header and " << c.data << " data credits over " << c.loop_ns << " ns";
  }
}

// Exactly at the knee: the credit is back when the next TLP is due.
TEST(PostedCredits, LoseNothingAtTheKnee) {
  const double link = oracle::pcie_bytes({4, 16}, 0.03);
  for (const int window : {8, 16, 33, 64}) {
    Cluster cluster = bare_pair(4, 1600_Gbps, {4096});
    cluster.network.vl_buffer = {};
    cluster.node.pcie_settings.posted_header_credits = window;
    cluster.node.pcie_settings.posted_data_credits = 100'000;
    const double knee_ps = window * 280 / link * 1e12;
    for (const double share : {0.98, 1.0, 1.02}) {
      // The switch, the link and the way back of a credit take 145 ns at least.
      const double loop_ps = std::max(knee_ps * share, 145'000.0);
      cluster.node.pcie_settings.credit_loop = {std::llround(loop_ps)};
      const double expected = std::min(link * 256 / 280, window * 256 / loop_ps * 1e12);
      EXPECT_NEAR(stream_rate(cluster), expected, expected * 0.005) << window << " x " << share;
    }
  }
}

// A TLP goes onto a faster link only when that will not run dry: so much later its credit is back.
TEST(PostedCredits, BoundWritesBeforeAFasterLinkToo) {
  const std::pair<PcieLink, PcieLink> pairs[] = {
      {{3, 8}, {4, 16}}, {{3, 16}, {5, 16}}, {{4, 16}, {5, 16}}, {{4, 8}, {4, 16}}};
  for (const auto& [nic, gpu] : pairs) {
    const double tlp_ns = 280 / oracle::pcie_bytes(nic, 0.03) * 1e9;
    const double tlp_wait_ns = tlp_ns - 280 / oracle::pcie_bytes(gpu, 0.03) * 1e9;
    for (const int window : {1, 2, 3, 4, 8, 12, 16, 20, 24, 32, 48}) {
      for (const double loop_ns : {200.0, 400.0, 900.0}) {
        Cluster cluster = bare_pair(5, 1600_Gbps, {4096});
        cluster.node.nic.pcie = nic;
        cluster.node.gpu.pcie = gpu;
        cluster.network.vl_buffer = {};
        cluster.node.pcie_settings.posted_header_credits = window;
        cluster.node.pcie_settings.posted_data_credits = 100'000;
        cluster.node.pcie_settings.credit_loop = {static_cast<std::int64_t>(loop_ns * 1000)};
        const double expected = 256e9 * std::min(1 / tlp_ns, window / (loop_ns + tlp_wait_ns));
        EXPECT_NEAR(stream_rate(cluster) / expected, 1, 0.03)
            << window << " TLPs over " << loop_ns << " ns, Gen" << nic.generation << " x"
            << nic.lanes << " into Gen" << gpu.generation << " x" << gpu.lanes;
      }
    }
  }
}

// A root complex keeps a TLP for its 300 ns, longer than the loop: its buffer is busy that long.
TEST(PostedCredits, AreHeldWhileTheRootComplexForwards) {
  for (const int window : {8, 16, 48, 128}) {
    Cluster cluster = bare_pair(5, 1600_Gbps, {4096});
    cluster.network.vl_buffer = {};
    cluster.node.nic.transmit_buffer = {64 << 20};
    cluster.node.pcie = {{"sw0", "socket0", PcieLink{5, 16}, {"gpu0"}},
                         {"", "socket0", std::nullopt, {"nic0"}}};
    cluster.node.pcie_settings.posted_header_credits = window;
    cluster.node.pcie_settings.posted_data_credits = 100'000;
    cluster.node.root_complex.latency = 300_ns;
    // Wire and receiver of the link take 20 ns more, each way.
    const double link = oracle::pcie_bytes({5, 16}, 0.03) * 256 / 280;
    const double expected = std::min(link, window * 256 / 340e-9);
    EXPECT_NEAR(stream_rate(cluster), expected, expected * kClose) << window;
  }
}

double wire_ps(std::int64_t payload) { return static_cast<double>(payload + 26) * 20; }  // 50 GB/s

// A packet of 4122 bytes takes 65 blocks, and takes them all at once: 64 KiB hold 15 packets.
double packets_in(std::int64_t buffer) {
  return std::floor(std::floor(static_cast<double>(std::min<std::int64_t>(buffer, 131'072)) / 64) /
                    65);
}

// A message is 256 packets: as many messages as a burst has packets are whole bursts.
double burst_rate(const Cluster& cluster) {
  const auto burst = static_cast<int>(packets_in(cluster.network.vl_buffer.count));
  return stream_rate(cluster, std::max(burst, 4));
}

Cluster through_a_switch() {
  Cluster cluster = bare_wire(400_Gbps, {4096});
  cluster.network.topology.kind = TopologyKind::kSingleSwitch;
  cluster.network.topology.leaves = 1;
  cluster.network.node_cable_metres = 19.8;  // 100 ns
  cluster.network.credit_return = 300_ns;
  return cluster;
}

// Into a switch: the first bit leaves it after cable and forwarding, the last a packet later; then
// both ends' handling and the cable back.
TEST(LaneCredits, BoundAWireIntoASwitchByWindowOverRoundTrip) {
  for (const std::int64_t switch_ns : {200, 1000, 3000}) {
    for (const std::int64_t buffer : {4160, 8320, 12'288, 32'768, 65'536, 131'072, 1 << 20}) {
      Cluster cluster = through_a_switch();
      cluster.network.switch_latency = {switch_ns * 1000};
      cluster.network.vl_buffer = {buffer};
      const double round_trip =
          100'000 + static_cast<double>(switch_ns) * 1000 + wire_ps(4096) + 300'000 + 100'000;
      const double expected =
          4096 * std::min(1 / wire_ps(4096), packets_in(buffer) / round_trip) * 1e12;
      EXPECT_NEAR(burst_rate(cluster), expected, expected * kClose)
          << buffer << " bytes, " << switch_ns << " ns";
    }
  }
}

// A NIC that says how much its port holds is given no more; one that does not holds what the
// network says.
TEST(LaneCredits, IntoANicAreOfItsReceiveBuffer) {
  constexpr Bytes kLittle{12'480};
  constexpr Bytes kPlenty{131'072};
  const auto rate = [](Cluster cluster, Bytes network, Bytes nic) {
    cluster.network.node_cable_metres = 198;  // 1 us
    cluster.network.vl_buffer = network;
    cluster.node.nic.receive_buffer = nic;
    return stream_rate(cluster, 12);
  };
  const Cluster direct = bare_wire(400_Gbps, {4096});
  EXPECT_LT(rate(direct, kLittle, {}), 0.7 * rate(direct, kPlenty, {}));
  EXPECT_EQ(rate(direct, kPlenty, kLittle), rate(direct, kLittle, {}));
  EXPECT_EQ(rate(direct, kLittle, kPlenty), rate(direct, kPlenty, {}));
  // Through a switch it is the last wire alone that has the NIC's.
  const Cluster switched = through_a_switch();
  EXPECT_LT(rate(switched, kPlenty, kLittle), 0.7 * rate(switched, kPlenty, {}));
  EXPECT_LT(rate(switched, kLittle, kPlenty), 0.7 * rate(switched, kPlenty, {}));
}

// At the knee, where a whole number of packets fills the round trip.
TEST(LaneCredits, LoseNothingAtTheKnee) {
  for (const int packets : {8, 12, 20}) {
    Cluster cluster = through_a_switch();
    cluster.network.vl_buffer = {65 * 64 * packets};
    const double rest = 100'000 + wire_ps(4096) + 300'000 + 100'000;
    cluster.network.switch_latency = {std::llround(packets * wire_ps(4096) - rest)};
    const double expected = 50e9 * 4096 / 4122;
    EXPECT_NEAR(burst_rate(cluster), expected, expected * kClose) << packets;
    cluster.network.vl_buffer = {65 * 64 * packets - 64};
    const double one_less = expected * (packets - 1) / packets;
    EXPECT_NEAR(burst_rate(cluster), one_less, one_less * kClose) << packets;
  }
}

// Into a NIC: the buffer is held until the last posted write of the packet has left it.
TEST(LaneCredits, AreHeldUntilThePacketHasLeftForMemory) {
  for (const std::int64_t receive_ns : {200, 2000}) {
    for (const std::int64_t buffer : {8320, 32'768, 65'536, 131'072}) {
      Cluster cluster = bare_pair(5, 400_Gbps, {4096});
      cluster.network.node_cable_metres = 19.8;
      cluster.network.credit_return = 300_ns;
      cluster.network.vl_buffer = {buffer};
      cluster.node.nic.receive_latency = {receive_ns * 1000};
      const double write = (4096 + 16 * 24) / oracle::pcie_bytes({5, 16}, 0.03) * 1e12;
      const double round_trip = wire_ps(4096) + 100'000 + static_cast<double>(receive_ns) * 1000 +
                                write + 300'000 + 100'000;
      const double expected =
          4096 * std::min(1 / wire_ps(4096), packets_in(buffer) / round_trip) * 1e12;
      EXPECT_NEAR(burst_rate(cluster), expected, expected * kClose)
          << buffer << " bytes, " << receive_ns << " ns";
    }
  }
}

TEST(LaneCredits, SmallerPacketsWasteLessOfABuffer) {
  Cluster cluster = through_a_switch();
  cluster.network.mtu = {1024};
  cluster.network.vl_buffer = {8192};  // 128 blocks, 17 a packet: 7 packets
  cluster.network.switch_latency = 1_us;
  const double round_trip = 100'000 + 1'000'000 + wire_ps(1024) + 300'000 + 100'000;
  EXPECT_NEAR(stream_rate(cluster), 7 * 1024 / round_trip * 1e12, 7 * 1024 / round_trip * 1e9);
}

// Reads outstanding: a tag is free again when the last byte it asked for is in the NIC.
double read_round_trip_ps(const Cluster& cluster, double requests) {
  const double pcie = oracle::pcie_bytes({5, 16}, 0.03);
  return 145'000 + 24 * requests / pcie * 1e12 +
         static_cast<double>(cluster.node.gpu.read_latency.ps) + 145'000 +
         (4096 + 16 * 20) / pcie * 1e12;
}

TEST(ReadTags, BoundReadsByWhatIsOutstandingOverRoundTrip) {
  for (const std::int64_t read_ns : {300, 700, 2000}) {
    for (const std::int64_t request : {4096, 1024, 512}) {
      for (const int packets : {1, 2, 8, 16, 64}) {
        Cluster cluster = bare_pair(5, 800_Gbps, {4096});
        cluster.network.vl_buffer = {};
        cluster.node.nic.transmit_buffer = {64 << 20};
        cluster.node.gpu.read_latency = {read_ns * 1000};
        cluster.node.pcie_settings.max_read_request = {request};
        const auto per_packet = static_cast<int>(4096 / request);
        cluster.node.pcie_settings.tags = packets * per_packet;
        const double link = oracle::pcie_bytes({5, 16}, 0.03) * 256 / 280;
        const double expected =
            std::min(link, packets * 4096 / read_round_trip_ps(cluster, per_packet) * 1e12);
        EXPECT_NEAR(stream_rate(cluster), expected, expected * kClose)
            << packets << " packets of " << request << " bytes, " << read_ns << " ns";
      }
    }
  }
}

TEST(ReadTags, LoseNothingAtTheKnee) {
  const double pcie = oracle::pcie_bytes({5, 16}, 0.03);
  const double completion_ps = (4096 + 16 * 20) / pcie * 1e12;
  for (const int tags : {6, 13, 30}) {
    Cluster cluster = bare_pair(5, 800_Gbps, {4096});
    cluster.network.vl_buffer = {};
    cluster.node.nic.transmit_buffer = {64 << 20};
    cluster.node.pcie_settings.tags = tags;
    const double rest = read_round_trip_ps(cluster, 1);
    cluster.node.gpu.read_latency = {std::llround(tags * completion_ps - rest)};
    // Acknowledged when the far NIC has it: the rate of the reads.
    const double expected = pcie * 256 / 276;
    EXPECT_NEAR(steady_rate(cluster, kLength, 3, 9, StreamEnd::kDone), expected, expected * kClose);
  }
}

// Payload asked for and not yet begun to be sent is held by the NIC's transmit buffer.
TEST(TransmitBuffer, BoundsReadsAsTagsDo) {
  for (const std::int64_t packets : {1, 3, 8, 12}) {
    Cluster cluster = bare_pair(5, 400_Gbps, {4096});
    cluster.network.vl_buffer = {};
    cluster.node.nic.transmit_buffer = {packets * 4096 + 100};
    cluster.node.nic.transmit_latency = 200_ns;
    cluster.node.gpu.read_latency = 700_ns;
    const double round_trip = read_round_trip_ps(cluster, 1) + 200'000;
    const double expected =
        std::min(50e9 * 4096 / 4122, static_cast<double>(packets) * 4096 / round_trip * 1e12);
    EXPECT_NEAR(stream_rate(cluster), expected, expected * kClose) << packets;
  }
}

}  // namespace
}  // namespace gradhaul
