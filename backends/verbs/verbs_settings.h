#pragma once

// What a user may choose of RDMA verbs: plain data, no header of libibverbs needed. Defaults of the
// retry attributes are those that reach line rate and still end: hardware answers a lost packet
// after 4.096 us * 2^timeout [IBTA vol. 1, 9.7.6.1.3].

#include <chrono>
#include <cstdint>
#include <string>

#include "core/inline_write.h"
#include "core/quantities.h"

namespace gradhaul {

// What wait() does: returns at once; sleeps until a completion comes; or spins first, for as long
// as a peer takes that has a core to itself.
enum class CompletionMode : std::uint8_t { kPolling, kEvents, kAdaptive };

// Whether the NIC reads a word back from the memory into which data has arrived before anybody
// hears of it: as the GPU needs it, always, or never.
enum class FlushMode : std::uint8_t { kAuto, kOn, kOff };

struct VerbsSettings {
  // As NCCL_IB_HCA has it: names, or how they begin, after ^ to leave out, after = exact, with
  // :PORT behind one. Empty: all.
  std::string devices;
  int gid_index = -1;  // -1: chosen by backends/verbs/gid_choice.h
  int pkey_index = 0;
  int service_level = 0;  // 0..15
  int traffic_class = 0;  // 0..255; RoCE: DSCP * 4 + ECN
  Bytes mtu{0};           // 0: the smaller of both ends' active MTUs; else at most this
  int timeout = 20;       // 0..31: 4.096 us * 2^timeout, 4.3 s; 0: for ever
  int retry = 7;          // 0..7
  int rnr_retry = 3;      // 0..6, 7: for ever. Receives are posted ahead: none is ever missing
  int rnr_timer = 12;     // code: 0.64 ms. 0 means 655 ms [IBTA vol. 1, table 45]
  int queue_pairs = 1;    // of a connection, at most 64
  // Parts of each write go by all queue pairs; else writes alternate over them.
  bool split_writes = false;
  // Data by plain writes, each with an empty one with the immediate behind it: networks that
  // reorder packets (adaptive routing) may then reorder those of the data, as NCCL has it
  // (NCCL_IB_AR_THRESHOLD).
  bool immediate_apart = false;
  // Writes up to this go with their work request, if the device allows.
  int inline_bytes = static_cast<int>(kInlineBytes.count);
  // Of work requests rung together each so-manyth is signalled, and the last.
  int signal_interval = 16;
  int max_writes_in_flight = 128;  // of a connection
  bool relaxed_ordering = true;
  CompletionMode completion = CompletionMode::kAdaptive;
  FlushMode flush = FlushMode::kAuto;
  bool pin_thread = true;  // the rank's thread runs near its NIC, if the host says where that is
  std::chrono::milliseconds deadline{60'000};  // of one write, its retries included; 0: none
};

}  // namespace gradhaul
