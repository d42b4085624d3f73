#pragma once

// First in, first out, in memory taken once: nothing is allocated on the completion path.

#include <cstddef>
#include <vector>

#include "core/assert.h"

namespace gradhaul {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : entries_(capacity) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const T& front() const {
    GRADHAUL_ASSERT(size_ > 0, "the queue is empty");
    return entries_[first_];
  }
  // The i-th from the front.
  const T& at(std::size_t i) const { return entries_[place_of(i)]; }
  T& at(std::size_t i) { return entries_[place_of(i)]; }
  void push(const T& entry) {
    GRADHAUL_ASSERT(size_ < entries_.size(), "the queue is bounded by what may be outstanding");
    std::size_t place = first_ + size_;
    if (place >= entries_.size()) place -= entries_.size();
    entries_[place] = entry;
    ++size_;
  }
  T pop() {
    const T entry = front();
    if (++first_ == entries_.size()) first_ = 0;
    --size_;
    return entry;
  }

 private:
  std::size_t place_of(std::size_t i) const {
    GRADHAUL_ASSERT(i < size_, "the queue is shorter");
    const std::size_t place = first_ + i;
    return place >= entries_.size() ? place - entries_.size() : place;
  }

  std::vector<T> entries_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace gradhaul
