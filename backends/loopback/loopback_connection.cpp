#include "backends/loopback/loopback_connection.h"

#include <algorithm>
#include <cstring>

#include "core/assert.h"

namespace gradhaul {

LoopbackConnection::LoopbackConnection(const Wiring& wiring, const LoopbackSettings& settings,
                                       DeliveryAgenda& agenda)
    : wiring_(wiring),
      settings_(settings),
      agenda_(agenda),
      done_queue_(
          agenda.add_queue(wiring.sender.rank, CompletionKind::kWriteDone, wiring.sender.id)),
      arrived_queue_(agenda.add_queue(wiring.receiver.rank, CompletionKind::kWriteArrived,
                                      wiring.receiver.id)),
      credit_done_queue_(
          agenda.add_queue(wiring.receiver.rank, CompletionKind::kCreditDone, wiring.receiver.id)),
      credit_arrived_queue_(
          agenda.add_queue(wiring.sender.rank, CompletionKind::kCreditArrived, wiring.sender.id)),
      occupied_(static_cast<std::size_t>(wiring.slot_count), false) {}

void LoopbackConnection::post_data(std::span<const std::byte> source, std::int32_t slot) {
  GRADHAUL_ASSERT(slot >= 0 && slot < wiring_.slot_count, "the peer has no such slot");
  GRADHAUL_ASSERT(!occupied_[static_cast<std::size_t>(slot)],
                  "a slot is written only after it was returned");
  GRADHAUL_ASSERT(!source.empty() && source.size() <= slot_bytes(slot).size(),
                  "a data write has bytes, and they fit the slot");
  GRADHAUL_ASSERT(static_cast<std::int64_t>(source.size()) <= settings_.limits.max_write.count,
                  "a write is no longer than the limit");
  GRADHAUL_ASSERT(posted_ - done_ < settings_.limits.max_writes_in_flight,
                  "no more data writes are in flight than the limit");
  occupied_[static_cast<std::size_t>(slot)] = true;
  DataWrite& write = writes_.emplace_back();
  write.source = source;
  write.slot = slot;
  if (settings_.copy == CopyMoment::kAtPost) write.staged.emplace(source.begin(), source.end());
  if (settings_.check_sources) write.original.emplace(source.begin(), source.end());
  ++posted_;
}

void LoopbackConnection::post_credit(std::int32_t slots_returned) {
  GRADHAUL_ASSERT(slots_returned >= 1, "a credit write returns slots");
  GRADHAUL_ASSERT(static_cast<std::size_t>(slots_returned) <= to_return_.size(),
                  "only slots in which something arrived are returned");
  GRADHAUL_ASSERT(credits_posted_ - credits_done_ < settings_.limits.max_writes_in_flight,
                  "no more credit writes are in flight than the limit");
  for (std::int32_t i = 0; i < slots_returned; ++i) {
    const std::int32_t slot = to_return_.front();
    to_return_.pop_front();
    returning_.push_back(slot);
    if (settings_.poison_returned_slots) std::ranges::fill(slot_bytes(slot), kPoison);
  }
  credits_.push_back(slots_returned);
  ++credits_posted_;
}

void LoopbackConnection::flush_data() {
  for (; flushed_ < posted_; ++flushed_) {
    // The arrival first, as an acknowledgement follows what it acknowledges: first in, first out
    // then copies once, straight into the slot.
    agenda_.post(arrived_queue_);
    agenda_.post(done_queue_);
  }
}

void LoopbackConnection::flush_credits() {
  for (; credits_flushed_ < credits_posted_; ++credits_flushed_) {
    agenda_.post(credit_arrived_queue_);
    agenda_.post(credit_done_queue_);
  }
}

Completion LoopbackConnection::deliver(CompletionKind kind) {
  switch (kind) {
    case CompletionKind::kWriteDone:
      return deliver_write_done();
    case CompletionKind::kWriteArrived:
      return deliver_write_arrived();
    case CompletionKind::kCreditDone:
      return deliver_credit_done();
    case CompletionKind::kCreditArrived:
      return deliver_credit_arrived();
    case CompletionKind::kReduceDone:
      break;
  }
  assertion_failed("a completion of a connection", __FILE__, __LINE__, "a reduction is none");
}

LoopbackConnection::DataWrite& LoopbackConnection::write(std::int64_t ordinal) {
  return writes_[static_cast<std::size_t>(ordinal - forgotten_)];
}

void LoopbackConnection::forget_delivered_writes() {
  for (; forgotten_ < std::min(done_, arrived_); ++forgotten_) writes_.pop_front();
}

std::span<std::byte> LoopbackConnection::slot_bytes(std::int32_t slot) const {
  const std::size_t size = wiring_.slots.size() / static_cast<std::size_t>(wiring_.slot_count);
  return wiring_.slots.subspan(static_cast<std::size_t>(slot) * size, size);
}

CompletionStatus LoopbackConnection::status_at(EndState& end, bool this_one_fails) {
  if (end.failed) return CompletionStatus::kFlushed;
  end.failed = this_one_fails;
  return this_one_fails ? CompletionStatus::kFailed : CompletionStatus::kOk;
}

void LoopbackConnection::check_source(const DataWrite& write) const {
  if (!write.original) return;
  GRADHAUL_ASSERT(std::ranges::equal(*write.original, write.source),
                  "a source stays as it is until its write is done");
}

Completion LoopbackConnection::deliver_write_done() {
  DataWrite& write = this->write(done_);
  const auto length = static_cast<std::int64_t>(write.source.size());
  check_source(write);
  // From here on the source may change; who arrives later needs the bytes of now.
  if (done_ >= arrived_ && !write.staged) {
    write.staged.emplace(write.source.begin(), write.source.end());
  }
  const CompletionStatus status = status_at(sender_, fails(done_));
  ++done_;
  forget_delivered_writes();
  return {CompletionKind::kWriteDone, status, wiring_.sender.id, length};
}

Completion LoopbackConnection::deliver_write_arrived() {
  const DataWrite& write = this->write(arrived_);
  const auto length = static_cast<std::int64_t>(write.source.size());
  const CompletionStatus status = status_at(receiver_, fails(arrived_));
  if (status == CompletionStatus::kOk) {
    const std::byte* bytes = write.staged ? write.staged->data() : write.source.data();
    std::memcpy(slot_bytes(write.slot).data(), bytes, write.source.size());
  }
  to_return_.push_back(write.slot);
  ++arrived_;
  forget_delivered_writes();
  return {CompletionKind::kWriteArrived, status, wiring_.receiver.id, length};
}

Completion LoopbackConnection::deliver_credit_done() {
  ++credits_done_;
  return {CompletionKind::kCreditDone, status_at(receiver_, false), wiring_.receiver.id, 0};
}

Completion LoopbackConnection::deliver_credit_arrived() {
  const std::int32_t returned = credits_.front();
  credits_.pop_front();
  for (std::int32_t i = 0; i < returned; ++i) {
    occupied_[static_cast<std::size_t>(returning_.front())] = false;
    returning_.pop_front();
  }
  return {CompletionKind::kCreditArrived, status_at(sender_, false), wiring_.sender.id, returned};
}

}  // namespace gradhaul
