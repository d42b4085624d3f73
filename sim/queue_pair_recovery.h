#pragma once

// What both ends of a queue pair keep where packets may be lost: reliable connections as InfiniBand
// and RoCE have them [IBTA vol. 1, 9.7]. All packets of a queue pair are numbered in a row (PSN).
//
//  - The receiver takes them in order. What comes after a gap is dropped; the first of it is
//    answered with what was expected instead (NAK, PSN sequence error), the rest not at all, until
//    the missing one comes. What comes a second time is dropped, and answered as when it came
//    first.
//  - The sender that is told so begins again with the missing packet (go-back-N): payload is read
//    anew. What it has read is sent before; what is still being read is thrown away.
//  - Answers are cumulative: each says that everything before has come.
//  - A sender with packets out that hears nothing for the ACK timeout begins again with the first
//    one that is not acknowledged. The timer runs from the packet that is handed to the wire first,
//    and anew whenever more is acknowledged. As often as `retry` says in a row without that, and
//    the run fails.
//
// A receiver that has posted no receive for what needs one (core/receive_queue.h) drops the packet,
// and what comes behind it without a word, and says so (RNR NAK). The sender waits for as long as
// the answer says and begins again with it; after `rnr_retry` times in a row without anything
// acknowledged the run fails.
//
// A receiver that keeps what comes early (selective repeat; or because the network lets packets
// overtake each other, and it places them) knows which packets it has. A message is complete when
// all of it has come; answers say up to where nothing is missing.
//
//  - Where a gap means a loss, each new one is told of once, with its packets, and these alone are
//    sent again, before what waits. Where it does not, nobody is told.
//  - Who waits in vain cannot know what has come: all that is not acknowledged is sent again, and
//    what comes a second time is dropped.

#include <cstdint>
#include <deque>

#include "sim/packet.h"
#include "sim/trace_parts.h"

namespace gradhaul {

struct QueuePairRecovery {
  struct Answer {
    std::int32_t expected = 0;  // everything before has come, but see Packet::missing
    bool negative = false;      // and something behind it
    std::int32_t missing = 0;
    bool not_ready = false;  // no receive was posted (RNR NAK)
  };
  // Fixed:
  std::int64_t patience = INT64_MAX;  // ps
  int retry = 7;
  std::int64_t rnr_patience = 0;  // ps
  int rnr_retry = 7;
  // Of the sender:
  std::deque<std::int32_t> messages;  // from the first that is not acknowledged, to the last posted
  std::deque<std::int64_t> asked_at;  // when each packet from `acknowledged` on was last begun
  std::int32_t next = 0;              // number of the first packet of the next message
  std::int32_t acknowledged = 0;      // everything before it
  std::int32_t furthest = 0;          // everything before it has been on the wire
  std::int64_t deadline = INT64_MAX;  // when it will have waited long enough
  std::int64_t wake = INT64_MAX;      // an event is scheduled for then
  int tries = 0;                      // in a row
  std::int64_t resent = 0;            // ps that going back has cost so far, where it was told to
  std::int64_t timed_out = 0;         // and where it was not
  std::int64_t not_ready = 0;         // and where no receive was posted
  bool resting = false;               // it was told so, and waits
  int rnr_tries = 0;                  // in a row
  LinkId lost_on = kNoLink;           // the last of its packets, or of their answers
  std::deque<Answer> answers;         // on the way through its NIC
  // Of the receiver:
  std::int32_t expected = 0;
  std::deque<bool> early;     // of each packet from there to the last that has come: whether it has
  bool told = false;          // of the gap that there is
  std::int64_t accepted = 0;  // payload
  // Where receives may be missing: how many are posted, when more will be, in order; and the packet
  // that has found none.
  std::int32_t posted = 0;
  std::deque<std::int64_t> posted_later;
  std::int32_t lacking = -1;

  std::int32_t begun() const { return acknowledged + static_cast<std::int32_t>(asked_at.size()); }
};

// What is sent again, or was waited for behind it: where nothing has been lost, what came late has
// been taken for lost.
inline Cause resent_cause(const QueuePairRecovery& pair) {
  return pair.lost_on == kNoLink ? Cause::kMistaken : Cause::kResent;
}

// Of an answer on the wire, in Packet::missing: that no receive was posted.
inline constexpr std::int16_t kNotReadyAnswer = -1;

// What a NIC counts, under the names of its hw_counters.
struct RecoveryCounts {
  std::int64_t retransmitted = 0;          // packets sent again
  std::int64_t out_of_sequence = 0;        // packets that came after a gap
  std::int64_t packet_seq_err = 0;         // NAKs received
  std::int64_t local_ack_timeout_err = 0;  // timers that ran out
  std::int64_t rnr_nak_retry_err = 0;      // RNR NAKs received
};

// 4.096 us * 2^exponent; 0: never [IBTA vol. 1, 9.7.6.1.3].
constexpr std::int64_t ack_timeout(int exponent) {
  return exponent == 0 ? INT64_MAX : std::int64_t{4'096'000} << exponent;
}

}  // namespace gradhaul
