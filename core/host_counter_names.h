#pragma once

// The counters of real ports that a prediction counts, too, by the names that hosts have for them
// (PortCounters::as_on_host): of these nothing counted is 0, and not unknown.

#include <algorithm>
#include <array>
#include <string_view>

namespace gradhaul {

inline bool is_predicted_counter(std::string_view name) {
  static constexpr std::array<std::string_view, 20> kNames{"port_xmit_data",
                                                           "port_rcv_data",
                                                           "port_xmit_packets",
                                                           "port_rcv_packets",
                                                           "port_xmit_wait",
                                                           "port_rcv_errors",
                                                           "symbol_error",
                                                           "link_downed",
                                                           "rx_crc_errors_phy",
                                                           "link_down_events_phy",
                                                           "tx_discards_phy",
                                                           "rx_discards_phy",
                                                           "out_of_sequence",
                                                           "packet_seq_err",
                                                           "local_ack_timeout_err",
                                                           "rnr_nak_retry_err",
                                                           "np_cnp_sent",
                                                           "rp_cnp_handled",
                                                           "np_ecn_marked_roce_packets",
                                                           "context_misses"};
  // "rx_prio3_pause", "tx_prio3_pause", "rx_prio3_pause_duration"
  const bool pause =
      name.size() > 8 && name.substr(1, 6) == "x_prio" && name.substr(8, 6) == "_pause";
  return pause || std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace gradhaul
