#pragma once

// The counters of a connection, one class for each end. All are monotone, and each step asserts
// what must hold:
//   sending end:    settled <= written <= posted <= credits <= posted + slots
//   receiving end:  consumed <= started <= arrived <= granted <= slots + consumed
// The n-th write of a connection goes into slot n mod slots on both ends.

#include <cstdint>
#include <vector>

#include "core/assert.h"
#include "core/repeated_growth.h"

namespace gradhaul {

class SendWindow {
 public:
  explicit SendWindow(std::int32_t slots) : slots_(slots), credits_(slots) {}

  std::int64_t posted() const { return posted_; }
  std::int64_t written() const { return written_; }
  std::int64_t credits() const { return credits_; }
  std::int64_t in_flight() const { return posted_ - written_; }
  bool has_credit() const { return posted_ < credits_; }
  // The oldest write not yet settled is written out.
  bool can_settle() const { return settled_ < written_; }

  // Returns the peer's slot to write to.
  std::int32_t post() {
    GRADHAUL_ASSERT(has_credit(), "a write takes a credit");
    ++posted_;
    const std::int32_t slot = next_slot_;
    if (++next_slot_ == slots_) next_slot_ = 0;
    return slot;
  }
  void on_written() {
    GRADHAUL_ASSERT(written_ < posted_, "only what was posted is written");
    ++written_;
  }
  void on_credits(std::int64_t returned) {
    GRADHAUL_ASSERT(returned >= 1, "a credit write returns slots");
    credits_ += returned;
    GRADHAUL_ASSERT(credits_ <= posted_ + slots_, "only slots that were used are returned");
  }
  // The schedule's item that this write belongs to has taken note that it is written out.
  void settle() {
    GRADHAUL_ASSERT(can_settle(), "only what is written out is settled");
    ++settled_;
  }

  // For whoever compares and repeats: what decides about the future, as differences of counters;
  // and the counters after `times` more of what happened since `since`.
  void append_state(std::vector<std::int64_t>& words) const {
    words.insert(words.end(), {credits_ - posted_, posted_ - written_, written_ - settled_});
  }
  void repeat(const SendWindow& since, std::int64_t times) {
    next_slot_ =
        static_cast<std::int32_t>((next_slot_ + (posted_ - since.posted_) * times) % slots_);
    grow_again(credits_, since.credits_, times);
    grow_again(posted_, since.posted_, times);
    grow_again(written_, since.written_, times);
    grow_again(settled_, since.settled_, times);
  }

 private:
  std::int32_t slots_;
  std::int32_t next_slot_ = 0;
  std::int64_t credits_;
  std::int64_t posted_ = 0;
  std::int64_t written_ = 0;
  std::int64_t settled_ = 0;
};

class ReceiveWindow {
 public:
  explicit ReceiveWindow(std::int32_t slots) : slots_(slots), granted_(slots) {}

  std::int64_t arrived() const { return arrived_; }
  std::int64_t started() const { return started_; }
  std::int64_t consumed() const { return consumed_; }
  std::int64_t granted() const { return granted_; }
  std::int64_t credit_writes_in_flight() const { return credit_writes_ - credit_writes_done_; }
  bool has_arrival() const { return started_ < arrived_; }
  // Slots that are free again and not yet returned.
  std::int32_t due() const { return static_cast<std::int32_t>(slots_ + consumed_ - granted_); }
  // Nothing is due or on its way.
  bool settled() const { return due() == 0 && credit_writes_in_flight() == 0; }

  void on_arrived(std::int64_t bytes) {
    GRADHAUL_ASSERT(arrived_ < granted_, "a write arrives only in a slot that was granted");
    ++arrived_;
    bytes_ahead_ += bytes;
  }
  // An operation that reads the oldest arrival was posted; returns the slot it reads.
  std::int32_t start(std::int64_t bytes) {
    GRADHAUL_ASSERT(has_arrival(), "only what has arrived is read");
    ++started_;
    bytes_ahead_ -= bytes;
    GRADHAUL_ASSERT(has_arrival() || bytes_ahead_ == 0, "both ends cut the message alike");
    const std::int32_t slot = next_slot_;
    if (++next_slot_ == slots_) next_slot_ = 0;
    return slot;
  }
  void on_consumed() {
    GRADHAUL_ASSERT(consumed_ < started_, "only what was read is consumed");
    ++consumed_;
  }
  // A credit write that returns all that is due was posted.
  void grant() {
    GRADHAUL_ASSERT(due() >= 1, "a credit write returns slots");
    granted_ += due();
    ++credit_writes_;
  }
  void on_credit_done() {
    GRADHAUL_ASSERT(credit_writes_in_flight() > 0, "only what was posted is done");
    ++credit_writes_done_;
  }

  // As of SendWindow.
  void append_state(std::vector<std::int64_t>& words) const {
    words.insert(words.end(), {granted_ - consumed_, arrived_ - started_, started_ - consumed_,
                               credit_writes_in_flight(), bytes_ahead_});
  }
  void repeat(const ReceiveWindow& since, std::int64_t times) {
    next_slot_ =
        static_cast<std::int32_t>((next_slot_ + (started_ - since.started_) * times) % slots_);
    grow_again(granted_, since.granted_, times);
    grow_again(arrived_, since.arrived_, times);
    grow_again(started_, since.started_, times);
    grow_again(consumed_, since.consumed_, times);
    grow_again(credit_writes_, since.credit_writes_, times);
    grow_again(credit_writes_done_, since.credit_writes_done_, times);
  }

 private:
  std::int32_t slots_;
  std::int32_t next_slot_ = 0;
  std::int64_t granted_;
  std::int64_t arrived_ = 0;
  std::int64_t started_ = 0;
  std::int64_t consumed_ = 0;
  std::int64_t credit_writes_ = 0;
  std::int64_t credit_writes_done_ = 0;
  std::int64_t bytes_ahead_ = 0;  // arrived, and not yet read
};

}  // namespace gradhaul
