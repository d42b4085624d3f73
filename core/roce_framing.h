#pragma once

// RoCEv2 packets on an Ethernet wire, RC transport, over IPv4 and with their priority by DSCP where
// nothing else is said.
// Sizes: IEEE 802.3 clause 4 (preamble, gap, FCS); RFC 791, RFC 768; IBTA vol. 1, chapter 9 and its
// annex A17 (RoCEv2); the same in Linux's ib_pack.h. What follows the headers of the transport
// (RETH, immediate, AETH) is as in core/infiniband_framing.h.

#include <cstdint>
#include <iterator>

#include "core/quantities.h"

namespace gradhaul {

// Preamble and SFD 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12: every packet.
inline constexpr Bytes kRoceOverhead{82};
inline constexpr Bytes kVlanTag{4};        // IEEE 802.1Q
inline constexpr Bytes kIpv6OverIpv4{20};  // how much longer its header is: 40 [RFC 8200]

// A congestion notification packet, beside the overhead of all packets: what BTH is followed by
// [IBTA annex A17].
inline constexpr Bytes kNotificationBytes{16};

// A PFC frame: 64 bytes, preamble and gap [IEEE 802.1Qbb].
inline constexpr Bytes kPauseFrame{84};
// A pause lasts at most so many quanta of 512 bit times, and is renewed before it ends.
inline constexpr std::int64_t kMostPauseQuanta = 65'535;
inline constexpr std::int64_t kPauseQuantumBits = 512;

// After how long a pause is renewed that goes on: half of the longest one there is.
constexpr Duration pause_renewal(BitRate rate) {
  return {static_cast<std::int64_t>(Int128{kMostPauseQuanta} * kPauseQuantumBits *
                                    1'000'000'000'000 / rate.bits_per_second / 2)};
}

// What has to fit into an Ethernet frame beside the payload: Linux's iboe_get_mtu() counts a GRH
// (IPv6) of 40, UDP 8, BTH 12, XRC 4, atomic 28 and ICRC 4, whatever is really sent.
inline constexpr Bytes kRoceMtuMargin{96};

// How long after a pause frame has come in a transmitter may still start frames, in quanta: what
// switches reckon with [SONiC, buffer_headroom_mellanox.lua, after IEEE 802.1Qbb annex O]. Of rates
// between, that of the next faster.
constexpr std::int64_t pause_response_quanta(BitRate rate) {
  struct Response {
    std::int64_t gigabits;
    std::int64_t quanta;
  };
  constexpr Response kResponses[] = {{10, 67},   {25, 80},   {40, 118}, {50, 147},
                                     {100, 394}, {200, 453}, {400, 905}};
  for (const Response& response : kResponses) {
    if (rate.bits_per_second <= response.gigabits * 1'000'000'000) return response.quanta;
  }
  return kResponses[std::size(kResponses) - 1].quanta;
}

}  // namespace gradhaul
