#pragma once

// What a packet has on a wire beside its payload, by the kind of network.

#include "core/cluster.h"
#include "core/infiniband_framing.h"
#include "core/roce_framing.h"
#include "core/tcp_framing.h"

namespace gradhaul {

// Of every packet. What the first packet of a write, its last one and an acknowledgement have
// beside it is the same in InfiniBand and RoCEv2 (kRethBytes, kImmediateBytes, kAethBytes), and
// nothing in TCP.
constexpr Bytes packet_overhead(const Network& network) {
  const Bytes tag = network.vlan ? kVlanTag : Bytes{};
  switch (network.kind) {
    case NetworkKind::kInfiniband:
      return (network.tcp ? kTcpOverInfiniband : kInfinibandOverhead) +
             (network.grh ? kGrhBytes : Bytes{});
    case NetworkKind::kRoce:
      return kRoceOverhead + tag + (network.ipv6 ? kIpv6OverIpv4 : Bytes{});
    case NetworkKind::kEthernet:
      return kTcpOverEthernet + tag;
    case NetworkKind::kIdeal:
      break;
  }
  return {};
}

// Of what is on a wire, where each packet has headers of so many bytes.
constexpr double payload_share(Bytes payload, Bytes headers) {
  return static_cast<double>(payload.count) / static_cast<double>((payload + headers).count);
}

// Of an InfiniBand port: the buffer that holds a packet of any kind with a payload of the MTU.
constexpr Bytes packet_buffer(const Network& network) {
  return packet_buffer(network.mtu + (network.grh ? kGrhBytes : Bytes{}));
}

// Of the payload of a packet of TCP, what its network's MTU has to hold too.
constexpr Bytes tcp_share_of_mtu(NetworkKind kind) {
  return kind == NetworkKind::kInfiniband ? kIpoibHeader + kTcpIpHeaders : kTcpIpHeaders;
}

// The largest packet there is on a wire.
constexpr Bytes largest_packet(const Network& network) {
  if (network.kind == NetworkKind::kIdeal) return network.mtu;
  return network.mtu + packet_overhead(network) + kRethBytes + kImmediateBytes;
}

}  // namespace gradhaul
