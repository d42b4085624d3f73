#pragma once

// TCP/IPv4 packets with timestamps, as Linux sends them, on Ethernet (IEEE 802.3 clause 4; RFC 791,
// 9293, 7323) and on InfiniBand (IPoIB, datagram mode: RFC 4391 and 4392; IBTA vol. 1, chapter 9).

#include "core/infiniband_framing.h"
#include "core/quantities.h"

namespace gradhaul {

// IPv4 20, TCP 20, timestamps 12: inside the MTU.
inline constexpr Bytes kTcpIpHeaders{52};
// Preamble and SFD 8, Ethernet 14, FCS 4, gap 12; and the headers above.
inline constexpr Bytes kTcpOverEthernet = Bytes{38} + kTcpIpHeaders;

// The IPoIB header; what it takes of the packet's MTU.
inline constexpr Bytes kIpoibHeader{4};
// An unreliable datagram has a DETH of 8 beside what all packets have.
inline constexpr Bytes kTcpOverInfiniband =
    kInfinibandOverhead + Bytes{8} + kIpoibHeader + kTcpIpHeaders;

}  // namespace gradhaul
