#pragma once

// What a message takes on a wire and nowhere else: its bytes in packets of the path MTU, each with
// the headers that every packet of its network has.

#include "core/network_framing.h"
#include "core/quantities.h"

namespace gradhaul {

// `rate`: of the port after line coding (400 Gb/s of InfiniBand 4x NDR).
constexpr Duration wire_time(const Network& network, Bytes mtu, BitRate rate, Bytes bytes) {
  const std::int64_t packets = (bytes.count + mtu.count - 1) / mtu.count;
  return serialisation_time(bytes + packet_overhead(network) * packets, rate);
}

}  // namespace gradhaul
