#pragma once

// The checksums of packets on InfiniBand and RoCEv2 wires.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradhaul {

// The ones' complement sum of 16-bit words, of a header whose checksum field is zero [RFC 1071].
std::uint16_t internet_checksum(const std::uint8_t* header, std::size_t length);

// The invariant CRC: CRC-32 with the polynomial of Ethernet, over what no switch changes [IBTA
// vol. 1, 7.8.1; annex A17.3.3]. What a switch may change counts as ones. `packet` begins with LRH
// (InfiniBand, with or without GRH) or with the header of IPv4 or IPv6 (RoCEv2, where eight bytes
// of ones stand for LRH), and ends before the CRC. It goes out with its least significant byte
// first.
std::uint32_t invariant_crc_of_infiniband(std::vector<std::uint8_t> packet);
std::uint32_t invariant_crc_of_roce(std::vector<std::uint8_t> packet);

// The variant CRC: CRC-16 with the polynomial 0x100B, over LRH to ICRC [IBTA vol. 1, 7.8.2].
std::uint16_t variant_crc(const std::vector<std::uint8_t>& packet);

}  // namespace gradhaul
