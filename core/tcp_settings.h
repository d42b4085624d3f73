#pragma once

// TCP through the kernel's sockets: what of a host's CPU it takes to send and to receive. Data is
// copied between the user's memory and the kernel's, in system calls; the kernel hands the NIC
// aggregates of many packets (TSO) and gets them back put together again (GRO).
//
// One stream is no faster than the core that receives it: by the constants below 41.5 Gb/s with
// packets of 9000 bytes and 28.6 with 1500, fitted to some 42 Gb/s measured with all offloads (Cai
// et al., "Understanding host network stack overheads", SIGCOMM 2021), whose receivers, too, spend
// most of their time on the copy. So all of them are estimates.

#include <algorithm>

#include "core/quantities.h"

namespace gradhaul {

struct TcpSettings {
  // Sockets of a connection, over which its data is dealt (NCCL_SOCKET_NTHREADS times
  // NCCL_NSOCKS_PERTHREAD).
  int sockets = 1;
  // Of the host, for all sockets of a rank in both directions: its communication thread's, and
  // those of helpers (NCCL_SOCKET_NTHREADS).
  int cores = 1;
  bool offloads = true;                  // TSO and GRO; else packets pass the kernel one by one
  BitRate send_copy{80'000'000'000};     // 10 GB/s: user to kernel
  BitRate receive_copy{60'000'000'000};  // 7.5 GB/s: kernel to user
  Duration aggregate{2'500'000};         // each: buffers, TCP, GRO's flush, a share of interrupts
  Duration packet{150'000};              // each: driver, GRO; a sender's only without offloads
  Duration system_call{200'000};         // each aggregate takes one
  Duration interrupt{3'500'000};         // from the last packet to an idle core that takes it
  friend bool operator==(const TcpSettings&, const TcpSettings&) = default;
};

// What a system call moves: the greatest aggregate of Linux (64 KiB), in whole packets.
inline constexpr std::int64_t kTcpAggregate = 64 * 1024;
constexpr Bytes tcp_aggregate(Bytes packet_payload) {
  const std::int64_t packets = std::max<std::int64_t>(1, kTcpAggregate / packet_payload.count);
  return packet_payload * packets;
}

// A slot that is given back, as a number of the stream.
inline constexpr Bytes kTcpCredit{8};

// What a core takes to send or to receive so much of an aggregate.
constexpr Duration tcp_work(const TcpSettings& tcp, Bytes packet_payload, Bytes bytes,
                            bool receiving) {
  const BitRate copy = receiving ? tcp.receive_copy : tcp.send_copy;
  const std::int64_t packets =
      (bytes.count + packet_payload.count - 1) / std::max<std::int64_t>(1, packet_payload.count);
  const bool by_packet = receiving || !tcp.offloads;
  return serialisation_time(bytes, copy) + tcp.aggregate + tcp.system_call +
         tcp.packet * (by_packet ? packets : 0);
}

}  // namespace gradhaul
