#pragma once

// What a packet has on a wire beside its payload, by the kind of network.

#include "core/cluster.h"
#include "core/infiniband_framing.h"
#include "core/roce_framing.h"

namespace gradhaul {

// Of every packet. What the first packet of a write, its last one and an acknowledgement have
// beside it is the same in InfiniBand and RoCEv2 (kRethBytes, kImmediateBytes, kAethBytes).
constexpr Bytes packet_overhead(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::kInfiniband:
      return kInfinibandOverhead;
    case NetworkKind::kRoce:
      return kRoceOverhead;
    case NetworkKind::kIdeal:
      break;
  }
  return {};
}

// The largest packet there is on a wire.
constexpr Bytes largest_packet(const Network& network) {
  if (network.kind == NetworkKind::kIdeal) return network.mtu;
  return network.mtu + packet_overhead(network.kind) + kRethBytes + kImmediateBytes;
}

}  // namespace gradhaul
