#pragma once

// All that changes about a link while a simulation runs, in plain values, times in ps; and the
// numbers of the model that stepping it needs at hand.

#include <cstdint>

#include "sim/credit_returns.h"
#include "sim/fabric.h"
#include "sim/link_digest.h"

namespace gradhaul {

// In place of the one link that a link's packets come from.
inline constexpr LinkId kManyFeeders = -2;

// Ordered by what a start touches together: four lines of cache.
struct alignas(64) LinkState {
  std::int64_t free = 0;          // when the transmitter is idle
  std::int64_t carry = 0;         // of the train it sends
  std::int64_t wake = INT64_MAX;  // a wake is scheduled for then
  std::int32_t head[kTrafficClasses] = {-1, -1, -1};
  std::int32_t tail[kTrafficClasses] = {-1, -1, -1};
  std::uint8_t waiting = 0;   // classes with packets
  bool listed = false;        // in the list of starts of this instant
  std::int32_t arriving = 0;  // packets whose arrival is an event to come
  LinkId feeder = kNoLink;    // the one link before it; kNoLink: none is known yet
  int feeder_copy = 0;        // which copy of that
  std::int32_t turn = 0;      // among links that may start something at the same instant
  // Credits count units of a train, which may be cut; else 64-byte blocks.
  bool unit_credits = false;
  bool ethernet = false;    // what a packet takes of a buffer is counted in bytes
  bool lossless = false;    // Ethernet: the far end pauses (sim/lossless_buffers.h)
  bool drops = false;       // Ethernet: what comes to wait may not fit (sim/dropping_buffers.h)
  bool spills = false;      // Ethernet: what it sends may not fit at the far end
  std::uint8_t paused = 0;  // classes
  bool marks = false;       // ECN
  bool counts_queue = false;
  ResourceId resource = kNoResource;
  bool watched = false;   // whoever looks on is told
  bool loses = false;     // packets may be lost on it (sim/link_losses.h)
  std::int64_t rate = 0;  // bits a second; 0: serialises in no time
  std::int64_t latency = 0;
  // A unit's credit is usable again so long after it began to leave the far end's buffer (PCIe), or
  // after its last bit left it (InfiniBand).
  std::int64_t return_after_leaving = 0;
  // Time with a packet ready that could not start, and the part of it without credits.
  std::int64_t backlog_since = -1;
  std::int64_t stall_since = -1;
  LinkDigest digest;
  std::int64_t busy_total = 0;
  std::int64_t payload_total = 0;
  CreditReturns credits[kTrafficClasses];
  std::int64_t backlog_total = 0;
  std::int64_t stall_total = 0;
  // Where packets are marked, or choose their way by it: what waits, in bytes of the wire, or in
  // blocks of 64 bytes on InfiniBand.
  std::int64_t queued = 0;
  // Where packets are marked: those that came, and those that were.
  std::int64_t markable = 0;
  std::int64_t marked = 0;
  std::int64_t extra_total = 0;     // bytes of packets beside payload and the headers of all
  std::int64_t repeated_stall = 0;  // beside it, of periods that were not stepped through
  // Packets that did not fit: before it, and at its far end.
  std::int64_t discarded = 0;
  std::int64_t spilt = 0;
};

}  // namespace gradhaul
