#pragma once

#include "core/result.h"

namespace gradhaul {

// Whether a port has counted anything beside traffic: waits, pauses, congestion, losses.
inline bool counts_trouble(const PortCounters& port) {
  const std::int64_t pauses = port.pfc_pause_frames + port.pfc_pause_frames_sent;
  const std::int64_t losses = port.dropped + port.tx_discards + port.rx_discards +
                              port.retransmitted + port.out_of_sequence + port.packet_seq_err +
                              port.local_ack_timeout_err + port.rnr_nak_retry_err;
  return port.xmit_wait.ps != 0 || port.pfc_paused.ps != 0 || port.out_of_credits.ps != 0 ||
         pauses + port.ecn_marked + port.cnp + losses != 0;
}

}  // namespace gradhaul
