// Bytes of captured packets: checksums of packets that others have captured or published, headers
// as the standards have them, and lengths as the model's framing counts them.

#include "analysis/captured_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/packet_checks.h"
#include "core/network_framing.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;

std::vector<std::uint8_t> bytes_of(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::vector<std::uint8_t> part(const std::vector<std::uint8_t>& bytes, std::size_t from,
                               std::size_t count) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// A notification that a ConnectX-4 Lx sent, from its IPv4 header to its ICRC.
TEST(PacketChecks, AreThoseOfACapturedPacket) {
  const std::vector<std::uint8_t> packet = bytes_of(
      "45c2003c718c4000401191610a0011010a001201"
      "000012b700280000"
      "8100ffff4000011800000000"
      "00000000000000000000000000000000");
  EXPECT_EQ(invariant_crc_of_roce(packet), 0x2A00FD82U);  // on the wire: 82 fd 00 2a
  std::vector<std::uint8_t> header = part(packet, 0, 20);
  header[10] = header[11] = 0;
  EXPECT_EQ(internet_checksum(header.data(), 20), 0x9161);
}

// CRC-32 of "123456789" is CBF43926 everywhere. Here what switches change counts as ones: packets
// that differ there alone have the same.
TEST(PacketChecks, InvariantsIgnoreWhatSwitchesChange) {
  std::vector<std::uint8_t> packet(28, 0x11);
  const std::uint32_t before = invariant_crc_of_infiniband(packet);
  packet[0] = 0x71;   // the virtual lane
  packet[12] = 0x40;  // BECN
  EXPECT_EQ(invariant_crc_of_infiniband(packet), before);
  packet[13] = 0x12;
  EXPECT_NE(invariant_crc_of_infiniband(packet), before);
}

// Of IPv6 and GRH traffic class, flow label and hop limit; in both, BTH's congestion bits.
TEST(PacketChecks, InvariantsIgnoreWhatRoutersChange) {
  const auto expect_same = [](std::uint32_t (*crc)(std::vector<std::uint8_t>),
                              const std::vector<std::uint8_t>& packet, std::size_t header,
                              std::size_t transport) {
    const std::uint32_t before = crc(packet);
    std::vector<std::uint8_t> changed = packet;
    changed[header] = 0x6A;
    changed[header + 1] = changed[header + 2] = changed[header + 3] = 0x5C;
    changed[header + 7] = 12;
    changed[transport + 4] = 0x40;
    EXPECT_EQ(crc(changed), before);
    for (const std::size_t kept : {header + 5, header + 8, transport + 5}) {
      std::vector<std::uint8_t> other = packet;
      other[kept] ^= 1;
      EXPECT_NE(crc(other), before) << kept;
    }
  };
  std::vector<std::uint8_t> packet(40 + 8 + 12 + 4, 0x11);
  packet[0] = 0x60;
  expect_same(invariant_crc_of_roce, packet, 0, 40 + 8);
  packet.assign(8 + 40 + 12 + 4, 0x11);
  packet[1] = 0x03;
  packet[8] = 0x60;
  expect_same(invariant_crc_of_infiniband, packet, 8, 8 + 40);
}

PortPacket write(PacketKind kind, std::int64_t payload) {
  PortPacket packet;
  packet.kind = kind;
  packet.source = {0, 1};
  packet.destination = {258, 0};
  packet.udp_source_port = 0xC123;
  packet.queue_pair = 0x000203;
  packet.sequence = 0xFFFFFE;
  packet.payload = {payload};
  packet.address = 0x7F0000001000;
  packet.key = 0x1234;
  packet.length = {payload};
  packet.immediate = 7;
  return packet;
}

constexpr std::size_t kWhole = 65535;
// What an interface does not hand on: preamble, FCS and gap.
constexpr std::int64_t kNotCaptured = 8 + 4 + 12;

TEST(CapturedFrame, RoceLengthsAreThoseOfTheFraming) {
  const auto length = [](const PortPacket& packet) {
    return static_cast<std::int64_t>(roce_frame(packet, kWhole).length) + kNotCaptured;
  };
  EXPECT_EQ(length(write(PacketKind::kWriteMiddle, 4096)), (kRoceOverhead + Bytes{4096}).count);
  EXPECT_EQ(length(write(PacketKind::kWriteFirst, 4096)),
            (kRoceOverhead + kRethBytes + Bytes{4096}).count);
  EXPECT_EQ(length(write(PacketKind::kWriteLast, 12)),
            (kRoceOverhead + kImmediateBytes + Bytes{12}).count);
  EXPECT_EQ(length(write(PacketKind::kWriteOnly, 0)),
            (kRoceOverhead + kRethBytes + kImmediateBytes).count);
  EXPECT_EQ(length(write(PacketKind::kAcknowledge, 0)), (kRoceOverhead + kAethBytes).count);
  EXPECT_EQ(length(write(PacketKind::kNotification, 0)),
            (kRoceOverhead + kNotificationBytes).count);
  EXPECT_EQ(static_cast<std::int64_t>(pause_frame({}).length) + kNotCaptured, kPauseFrame.count);
}

TEST(CapturedFrame, FurtherHeadersAreThoseOfTheFraming) {
  Network network;
  for (const bool vlan : {false, true}) {
    for (const bool ipv6 : {false, true}) {
      network.kind = NetworkKind::kRoce;
      network.vlan = vlan;
      network.ipv6 = ipv6;
      const CapturedFrame frame =
          roce_frame(write(PacketKind::kWriteMiddle, 4096), kWhole, {vlan, ipv6});
      EXPECT_EQ(static_cast<std::int64_t>(frame.length) + kNotCaptured,
                (packet_overhead(network) + Bytes{4096}).count);
      EXPECT_EQ(frame.bytes.size(), frame.length);
    }
  }
  network = {};
  network.kind = NetworkKind::kInfiniband;
  network.grh = true;
  const CapturedFrame frame =
      infiniband_frame(write(PacketKind::kWriteMiddle, 4096), 8, kWhole, {.grh = true});
  EXPECT_EQ(static_cast<std::int64_t>(frame.length),
            (packet_overhead(network) + Bytes{4096}).count);
  EXPECT_EQ(frame.bytes.size(), frame.length);
}

TEST(CapturedFrame, InfinibandLengthsAreThoseOfTheFraming) {
  const auto length = [](const PortPacket& packet) {
    return static_cast<std::int64_t>(infiniband_frame(packet, 8, kWhole).length);
  };
  EXPECT_EQ(length(write(PacketKind::kWriteMiddle, 4096)),
            (kInfinibandOverhead + Bytes{4096}).count);
  EXPECT_EQ(length(write(PacketKind::kWriteOnly, 8)), (kInfinibandMostOverhead + Bytes{8}).count);
  EXPECT_EQ(length(write(PacketKind::kAcknowledge, 0)), (kInfinibandOverhead + kAethBytes).count);
}

TEST(CapturedFrame, RoceHeadersSayWhatThePacketIs) {
  PortPacket packet = write(PacketKind::kWriteOnly, 6);
  packet.markable = packet.marked = true;
  const CapturedFrame frame = roce_frame(packet, kWhole);
  const std::vector<std::uint8_t>& bytes = frame.bytes;
  ASSERT_EQ(bytes.size(), frame.length);
  EXPECT_THAT(part(bytes, 0, 14), ElementsAre(2, 0, 0, 1, 2, 0, 2, 0, 0, 0, 0, 1, 0x08, 0x00));
  EXPECT_EQ(bytes[15], 26 << 2 | 3) << "DSCP 26, congestion experienced";
  EXPECT_THAT(part(bytes, 26, 8), ElementsAre(10, 0, 0, 2, 10, 1, 2, 1));
  std::vector<std::uint8_t> header = part(bytes, 14, 20);
  EXPECT_EQ(internet_checksum(header.data(), 20), 0) << "a right header sums to nothing";
  EXPECT_THAT(part(bytes, 34, 4), ElementsAre(0xC1, 0x23, 4791 >> 8, 4791 & 0xFF));
  // BTH: WRITE ONLY with immediate, two bytes of padding, P_Key, QP, wants an answer, PSN.
  EXPECT_THAT(part(bytes, 42, 12),
              ElementsAre(0x0B, 0x60, 0xFF, 0xFF, 0, 0x00, 0x02, 0x03, 0x80, 0xFF, 0xFF, 0xFE));
  EXPECT_THAT(part(bytes, 54, 20),
              ElementsAre(0, 0, 0x7F, 0, 0, 0, 0x10, 0, 0, 0, 0x12, 0x34, 0, 0, 0, 6, 0, 0, 0, 7));
  EXPECT_EQ(bytes.size(), 74U + 8 + 4);
}

// The tag with the priority and VLAN 100, the type of IPv6, and its header: DSCP 26 without a mark,
// what follows, UDP, 64 hops, fd00::0:0:2 and fd00::1:2:1.
TEST(CapturedFrame, TagsAndLongAddressesAreInTheirPlaces) {
  const CapturedFrame frame =
      roce_frame(write(PacketKind::kWriteMiddle, 256), kWhole, {.vlan = true, .ipv6 = true});
  const std::vector<std::uint8_t>& bytes = frame.bytes;
  EXPECT_THAT(part(bytes, 12, 6), ElementsAre(0x81, 0, 3 << 5, 100, 0x86, 0xDD));
  constexpr int kLength = 8 + 12 + 256 + 4;
  EXPECT_THAT(part(bytes, 18, 8), ElementsAre(0x60 | 26 >> 2, (26 << 6 & 0xFF), 0, 0, kLength >> 8,
                                              kLength & 0xFF, 17, 64));
  EXPECT_THAT(part(bytes, 26, 16), ElementsAre(0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2));
  EXPECT_THAT(part(bytes, 42, 16), ElementsAre(0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1));
  EXPECT_THAT(part(bytes, 58, 4), ElementsAre(0xC1, 0x23, 4791 >> 8, 4791 & 0xFF));
}

TEST(CapturedFrame, InfinibandHeadersSayWhereItGoes) {
  const CapturedFrame frame = infiniband_frame(write(PacketKind::kWriteMiddle, 256), 8, kWhole);
  // LRH: BTH follows; DLID 1 + 258 x 8, length in words up to ICRC, SLID 2.
  EXPECT_THAT(part(frame.bytes, 0, 8),
              ElementsAre(0, 2, 2065 >> 8, 2065 & 0xFF, 0, (8 + 12 + 256 + 4) / 4, 0, 2));
  EXPECT_EQ(frame.bytes[8], 0x07);
  EXPECT_EQ(frame.bytes.size(), frame.length);
}

TEST(CapturedFrame, KeepsAsMuchAsAsked) {
  const CapturedFrame frame = roce_frame(write(PacketKind::kWriteMiddle, 4096), 128);
  EXPECT_EQ(frame.bytes.size(), 128U);
  EXPECT_EQ(frame.length, 14U + 20 + 8 + 12 + 4096 + 4);
}

TEST(CapturedFrame, PausesAreOfTheLosslessPriority) {
  PortPause pause;
  pause.pause = true;
  pause.sender = "node3.nic2";
  const std::vector<std::uint8_t> bytes = pause_frame(pause).bytes;
  EXPECT_THAT(part(bytes, 0, 20), ElementsAre(0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 3, 2, 0x88,
                                              0x08, 0x01, 0x01, 0, 8, 0, 0));
  EXPECT_THAT(part(bytes, 24, 2), ElementsAre(0xFF, 0xFF));
  EXPECT_EQ(bytes.size(), 60U);
  pause.pause = false;
  EXPECT_THAT(part(pause_frame(pause).bytes, 24, 2), ElementsAre(0, 0));
}

}  // namespace
}  // namespace gradhaul
