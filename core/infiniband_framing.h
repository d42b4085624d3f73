#pragma once

// InfiniBand packets on the wire, RC transport; within one subnet they have no GRH.
// Sizes: IBTA Architecture Specification volume 1, chapters 7 and 9; the same in Linux's ib_pack.h.

#include <cstdint>

#include "core/quantities.h"

namespace gradhaul {

// LRH 8, BTH 12, ICRC 4, VCRC 2: every packet.
inline constexpr Bytes kInfinibandOverhead{26};
inline constexpr Bytes kGrhBytes{40};       // every packet that has one
inline constexpr Bytes kRethBytes{16};      // first or only packet of a WRITE
inline constexpr Bytes kImmediateBytes{4};  // last or only packet of a WRITE_WITH_IMM
// What the first packet of a write, if it is the only one, has beside its payload.
inline constexpr Bytes kInfinibandMostOverhead = kInfinibandOverhead + kRethBytes + kImmediateBytes;
inline constexpr Bytes kAethBytes{4};  // acknowledgement

// Credits count blocks of 64 bytes of a packet [IBTA vol. 1, 7.9.4]. A lane can advertise at most
// 2048 of them.
inline constexpr std::int64_t kCreditBlockBytes = 64;
inline constexpr std::int64_t kMaxCreditBlocks = 2048;

constexpr std::int64_t credit_blocks(Bytes wire_bytes) {
  return (wire_bytes.count + kCreditBlockBytes - 1) / kCreditBlockBytes;
}

// The buffer that holds a packet of any kind with this payload.
constexpr Bytes packet_buffer(Bytes mtu) {
  return {credit_blocks(mtu + kInfinibandMostOverhead) * kCreditBlockBytes};
}

// Light in fibre and signals in copper alike: 1.98e8 m/s, 5.05 ns a metre (switch vendors' headroom
// calculators; Cisco: 476 to 513 ns per 100 m).
constexpr Duration cable_latency(double metres) {
  return {static_cast<std::int64_t>(metres * 1e12 / 1.98e8 + 0.5)};
}

}  // namespace gradhaul
