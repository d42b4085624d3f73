#pragma once

// One connection between two ranks that see the same memory: the sender copies into the receiver's
// slot and counts; the receiver counts what it hands back. Each side writes lines of its own.
//
// Rings hold as many entries as there are slots: a write takes a free slot, and a slot is free only
// once the credit that returns it has been seen, so nothing can be ahead by more.

#include <atomic>
#include <cstdint>
#include <memory>

namespace gradhaul {

inline constexpr std::size_t kCacheLine = 64;

class MemoryLink {
 public:
  explicit MemoryLink(int slots)
      : slots_(slots),
        lengths_(std::make_unique<std::int64_t[]>(static_cast<std::size_t>(slots))),
        returned_(std::make_unique<std::int32_t[]>(static_cast<std::size_t>(slots))) {}

  int slots() const { return slots_; }

  // The sender's side.
  void publish_write(std::int64_t ordinal, std::int64_t length) {
    lengths_[place(ordinal)] = length;
    writes_.store(ordinal + 1, std::memory_order_release);
  }
  std::int64_t credits() const { return credits_.load(std::memory_order_acquire); }
  std::int32_t returned(std::int64_t ordinal) const { return returned_[place(ordinal)]; }

  // The receiver's side.
  std::int64_t writes() const { return writes_.load(std::memory_order_acquire); }
  std::int64_t length(std::int64_t ordinal) const { return lengths_[place(ordinal)]; }
  void publish_credit(std::int64_t ordinal, std::int32_t slots_returned) {
    returned_[place(ordinal)] = slots_returned;
    credits_.store(ordinal + 1, std::memory_order_release);
  }

 private:
  std::size_t place(std::int64_t ordinal) const {
    return static_cast<std::size_t>(ordinal % slots_);
  }

  int slots_;
  std::unique_ptr<std::int64_t[]> lengths_;
  std::unique_ptr<std::int32_t[]> returned_;
  alignas(kCacheLine) std::atomic<std::int64_t> writes_{0};
  alignas(kCacheLine) std::atomic<std::int64_t> credits_{0};
};

}  // namespace gradhaul
