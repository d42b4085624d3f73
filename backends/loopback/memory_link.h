#pragma once

// One connection between two ranks that see the same memory: the sender copies into the receiver's
// slot and counts; the receiver counts what it hands back. Each side writes lines of its own.
//
// Rings hold as many entries as there are slots: a write takes a free slot, and a slot is free only
// once the credit that returns it has been seen, so nothing can be ahead by more.
//
// What both sides see lies in memory that somebody else owns, at whatever address each sees it
// (threads: the same; processes: shared pages), and of which each side has a MemoryLink.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gradhaul {

inline constexpr std::size_t kCacheLine = 64;

class MemoryLink {
 public:
  // Bytes that a link of so many slots takes, whole cache lines.
  static std::size_t size(int slots) {
    const auto entries = static_cast<std::size_t>(slots);
    const std::size_t rings = entries * (sizeof(std::int64_t) + sizeof(std::int32_t));
    return sizeof(Head) + (rings + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  // `memory`: size(slots) bytes, all zero before the first of both sides begins, at the beginning
  // of a cache line.
  MemoryLink(std::byte* memory, int slots)
      : slots_(slots),
        head_(reinterpret_cast<Head*>(memory)),
        lengths_(reinterpret_cast<std::int64_t*>(memory + sizeof(Head))),
        returned_(reinterpret_cast<std::int32_t*>(lengths_ + slots)) {}

  int slots() const { return slots_; }

  // The sender's side.
  void publish_write(std::int64_t ordinal, std::int64_t length) {
    lengths_[place(ordinal)] = length;
    head_->writes.store(ordinal + 1, std::memory_order_release);
  }
  std::int64_t credits() const { return head_->credits.load(std::memory_order_acquire); }
  std::int32_t returned(std::int64_t ordinal) const { return returned_[place(ordinal)]; }

  // The receiver's side.
  std::int64_t writes() const { return head_->writes.load(std::memory_order_acquire); }
  std::int64_t length(std::int64_t ordinal) const { return lengths_[place(ordinal)]; }
  void publish_credit(std::int64_t ordinal, std::int32_t slots_returned) {
    returned_[place(ordinal)] = slots_returned;
    head_->credits.store(ordinal + 1, std::memory_order_release);
  }

 private:
  struct Head {
    alignas(kCacheLine) std::atomic<std::int64_t> writes;
    alignas(kCacheLine) std::atomic<std::int64_t> credits;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // else no two processes share it

  std::size_t place(std::int64_t ordinal) const {
    return static_cast<std::size_t>(ordinal % slots_);
  }

  int slots_;
  Head* head_;
  std::int64_t* lengths_;
  std::int32_t* returned_;
};

}  // namespace gradhaul
