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

// By what name a prediction counts what a port of soft-RoCE (rxe) counts by its own: only where
// both count the same [Linux, drivers/infiniband/sw/rxe: names in rxe_hw_counters.c]. Not the same:
// `out_of_seq_request` is one for each gap (rxe_resp.c, check_psn), `out_of_sequence` one for each
// packet behind it; `completer_retry_err` counts what NAKs and timers repeat (rxe_comp.c),
// `local_ack_timeout_err` timers alone; nor does a prediction count `send_rnr_err` and the like.
inline std::string_view predicted_name_of_rxe(std::string_view name) {
  // Packets that it handed to its interface (rxe_net.c, rxe_xmit_packet), and took from there with
  // a right checksum (rxe_recv.c, rxe_rcv): acknowledgements, too.
  if (name == "sent_pkts") return "port_xmit_packets";
  if (name == "rcvd_pkts") return "port_rcv_packets";
  // NAKs received, of a sequence that is broken and of receives that are not posted (rxe_comp.c,
  // check_ack).
  if (name == "rcvd_seq_err") return "packet_seq_err";
  if (name == "rcvd_rnr_err") return "rnr_nak_retry_err";
  // That its interface went down (rxe_net.c, rxe_port_down).
  if (name == "link_downed") return "link_down_events_phy";
  return name;
}

// Whether a port with this counter is one of rxe: others have `link_downed` as well.
inline bool is_rxe_counter(std::string_view name) { return name == "sent_pkts"; }

}  // namespace gradhaul
