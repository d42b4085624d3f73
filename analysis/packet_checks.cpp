#include "analysis/packet_checks.h"

#include <array>

namespace gradhaul {
namespace {

// Both are computed with the bits of each byte in the order in which they go out, lowest first.
constexpr std::uint32_t kCrc32Reversed = 0xEDB88320;
constexpr std::uint32_t kCrc16Reversed = 0xD008;

constexpr std::array<std::uint32_t, 256> table_of(std::uint32_t polynomial) {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? polynomial : 0);
    table[byte] = rest;
  }
  return table;
}

std::uint32_t crc_of(const std::vector<std::uint8_t>& packet, std::uint32_t state,
                     const std::array<std::uint32_t, 256>& table) {
  for (const std::uint8_t byte : packet) state = state >> 8 ^ table[(state ^ byte) & 0xFF];
  return state;
}

std::uint32_t crc32_of(const std::vector<std::uint8_t>& packet, std::uint32_t state) {
  static constexpr std::array<std::uint32_t, 256> kTable = table_of(kCrc32Reversed);
  return ~crc_of(packet, state, kTable);
}

constexpr std::size_t kLocalRoute = 8;  // LRH
constexpr std::size_t kIpv4 = 20;
constexpr std::size_t kIpv6 = 40;  // GRH too
constexpr std::size_t kUdp = 8;
constexpr std::size_t kCongestionBits = 4;  // FECN, BECN and six reserved bits, in BTH

// Traffic class, flow label and hop limit, which are in the same places of both headers.
void cover_ipv6(std::uint8_t* header) {
  header[0] |= 0x0F;
  header[1] = header[2] = header[3] = 0xFF;
  header[7] = 0xFF;
}

}  // namespace

std::uint16_t internet_checksum(const std::uint8_t* header, std::size_t length) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < length; i += 2) {
    sum += static_cast<std::uint32_t>(header[i] << 8 | header[i + 1]);
  }
  while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::uint32_t invariant_crc_of_infiniband(std::vector<std::uint8_t> packet) {
  const bool global = (packet[1] & 3) == 3;  // what follows LRH
  packet[0] |= 0xF0;                         // the virtual lane
  if (global) cover_ipv6(packet.data() + kLocalRoute);
  packet[kLocalRoute + (global ? kIpv6 : 0) + kCongestionBits] = 0xFF;
  return crc32_of(packet, 0xFFFF'FFFF);
}

std::uint32_t invariant_crc_of_roce(std::vector<std::uint8_t> packet) {
  const std::size_t header = packet[0] >> 4 == 6 ? kIpv6 : kIpv4;
  if (header == kIpv6) {
    cover_ipv6(packet.data());
  } else {
    packet[1] = 0xFF;                // DSCP and ECN
    packet[8] = 0xFF;                // time to live
    packet[10] = packet[11] = 0xFF;  // checksum
  }
  packet[header + 6] = packet[header + 7] = 0xFF;  // checksum of UDP
  packet[header + kUdp + kCongestionBits] = 0xFF;
  const std::vector<std::uint8_t> no_local_route(kLocalRoute, 0xFF);
  return crc32_of(packet, ~crc32_of(no_local_route, 0xFFFF'FFFF));
}

std::uint16_t variant_crc(const std::vector<std::uint8_t>& packet) {
  static constexpr std::array<std::uint32_t, 256> kTable = table_of(kCrc16Reversed);
  return static_cast<std::uint16_t>(~crc_of(packet, 0xFFFF, kTable));
}

}  // namespace gradhaul
