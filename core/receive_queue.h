#pragma once

// Receives: what a queue pair has posted for what comes with immediate data. A write with immediate
// data takes one when its last packet comes, a plain write none [IBTA vol. 1, 9.4.3]. Where none is
// posted, the packet is dropped and its sender told so (RNR NAK), who waits for as long as the
// answer says and sends it again [9.7.5.2.8].
//
// Data are such writes, by the verbs transport as by NCCL. Credits are too by the verbs transport
// (backends/verbs/verbs_connection.h), and by NCCL none, whose clear-to-send entries are plain
// writes.
//
// A receiver that posts one for each slot, and each again before it gives back the slot, never
// lacks one. It does with fewer, or where its threads post them late.

#include <array>
#include <cstdint>

#include "core/cluster.h"
#include "core/communication.h"

namespace gradhaul {

inline constexpr int kRnrForEver = 7;  // of Communication::rnr_retry

// How long an RNR NAK asks its sender to wait at least, by its code, 0 to 31 [IBTA vol. 1, table
// 45; Linux, include/rdma/ib_verbs.h, ib_rnr_timeout].
constexpr Duration rnr_timer(int code) {
  constexpr std::array<std::int64_t, 32> kTensOfMicroseconds{
      65'536, 1,     2,     3,     4,     6,      8,      12,     16,     24,    32,
      48,     64,    96,    128,   192,   256,    384,    512,    768,    1'024, 1'536,
      2'048,  3'072, 4'096, 6'144, 8'192, 12'288, 16'384, 24'576, 32'768, 49'152};
  return Duration{kTensOfMicroseconds[static_cast<std::size_t>(code)] * 10'000'000};
}

// So many a queue pair has posted where nothing is on its way.
constexpr int posted_receives(const Communication& communication) {
  return communication.receives.value_or(communication.slots);
}

// Whether any may be missing.
bool may_lack_receives(const Communication& communication, const Cluster& cluster);

}  // namespace gradhaul
