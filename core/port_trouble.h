#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gradhaul {

// What had to be fetched before a NIC or a root port went on, under names of this model alone.
inline constexpr std::array<std::string_view, 2> kMisses{"context_misses", "iotlb_misses"};
inline std::int64_t misses_of(const PortCounters& port, std::string_view name) {
  const auto found = port.as_on_host.find(std::string(name));
  return found == port.as_on_host.end() ? 0 : found->second;
}

// Whether a port has counted anything beside traffic: waits, pauses, congestion, losses, misses.
inline bool counts_trouble(const PortCounters& port) {
  const std::int64_t pauses = port.pfc_pause_frames + port.pfc_pause_frames_sent;
  const std::int64_t losses = port.dropped + port.tx_discards + port.rx_discards +
                              port.retransmitted + port.out_of_sequence + port.packet_seq_err +
                              port.local_ack_timeout_err + port.rnr_nak_retry_err;
  for (const std::string_view name : kMisses) {
    if (misses_of(port, name) != 0) return true;
  }
  return port.xmit_wait.ps != 0 || port.pfc_paused.ps != 0 || port.out_of_credits.ps != 0 ||
         pauses + port.ecn_marked + port.cnp + losses != 0;
}

}  // namespace gradhaul
