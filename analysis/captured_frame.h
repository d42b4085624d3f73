#pragma once

// Packets that a port sends or receives as the bytes that a capture of it holds: for RoCEv2 from
// the Ethernet header on, without FCS; for InfiniBand from LRH to VCRC. Payloads are zeros.
//
// Headers: IBTA vol. 1, chapters 7 and 9 (LRH, BTH, RETH, AETH, immediate), annex A17 (RoCEv2);
// RFC 791, RFC 8200, RFC 768; IEEE 802.1Q, 802.1Qbb (PFC). Payloads are padded to four bytes as
// these ask for, which the model does not count.
//
// Addresses are made up: NIC k of node n is 10.x.y.(k + 1) with n = 256 x + y, has the MAC
// 02:00:00:x:y:k, and is the LID 1 + n NICs + k of an InfiniBand subnet. In IPv6 it is
// fd00::x:y:k+1, in GRH fe80::x:y:k+1; the VLAN is 100.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/port_observer.h"

namespace gradhaul {

struct CapturedFrame {
  std::vector<std::uint8_t> bytes;  // those that are kept
  std::size_t length = 0;           // of the whole
};

// What packets have beside the least, as core/cluster.h's Network says.
struct FrameForm {
  bool vlan = false;  // of RoCEv2
  bool ipv6 = false;  // of RoCEv2
  bool grh = false;   // of InfiniBand
};

// No more than `snap` bytes are kept; where that cuts a packet, its CRC is not there either.
// `nics`: of a node.
CapturedFrame roce_frame(const PortPacket& packet, std::size_t snap, const FrameForm& form = {});
CapturedFrame infiniband_frame(const PortPacket& packet, int nics, std::size_t snap,
                               const FrameForm& form = {});
CapturedFrame pause_frame(const PortPause& pause);

// DSCP of data and acknowledgements, and of notifications: a widespread convention, with the
// lossless priority 3 [NVIDIA, "RoCE with PFC and ECN" guides].
inline constexpr std::uint8_t kDataDscp = 26;
inline constexpr std::uint8_t kNotificationDscp = 48;
inline constexpr int kLosslessPriority = 3;

}  // namespace gradhaul
