#pragma once

// First in, first out, in a ring that grows and never shrinks.

#include <cstdint>
#include <vector>

namespace gradhaul {

template <typename T>
class GrowingRing {
 public:
  GrowingRing() : slots_(8) {}

  bool empty() const { return head_ == tail_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tail_ - head_); }
  T& front() { return at(head_); }
  const T& front() const { return at(head_); }
  T& operator[](std::int64_t i) { return at(head_ + static_cast<std::uint64_t>(i)); }
  T& back() { return at(tail_ - 1); }
  const T& back() const { return at(tail_ - 1); }
  const T& operator[](std::int64_t i) const { return at(head_ + static_cast<std::uint64_t>(i)); }
  void pop() { ++head_; }
  void push(const T& added) { next() = added; }
  // What is pushed, to be written by the caller.
  [[gnu::always_inline]] T& next() {
    if (tail_ - head_ > mask_) grow();
    return at(tail_++);
  }

 private:
  T& at(std::uint64_t i) { return slots_[i & mask_]; }
  const T& at(std::uint64_t i) const { return slots_[i & mask_]; }
  [[gnu::noinline]] void grow() {
    std::vector<T> larger(2 * slots_.size());
    for (std::uint64_t i = head_; i < tail_; ++i) larger[i - head_] = at(i);
    tail_ -= head_;
    head_ = 0;
    slots_ = std::move(larger);
    mask_ = slots_.size() - 1;
  }

  std::vector<T> slots_;    // a power of two
  std::uint64_t mask_ = 7;  // their number less one
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace gradhaul
