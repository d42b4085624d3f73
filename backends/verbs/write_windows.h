#pragma once

// Writes of one connection in the order of their posts, whatever the order in which the parts that
// went by different queue pairs are done or arrive. Rings of a fixed size: no allocation on the
// way.

#include <bit>
#include <cstdint>
#include <vector>

#include "core/assert.h"

namespace gradhaul {

// At the end that posts: data writes, or credit writes.
class PostedWrites {
 public:
  explicit PostedWrites(int most) : most_(most), writes_(std::bit_ceil(std::size_t(most))) {}

  std::int64_t posted() const { return posted_; }
  std::int64_t done() const { return done_; }
  bool full() const { return posted_ - done_ >= most_; }
  bool empty() const { return posted_ == done_; }
  std::int64_t bytes_done() const { return bytes_done_; }

  // Returns the write's number, from 0.
  std::int64_t post(std::int64_t bytes, int parts) {
    at(posted_) = {bytes, parts};
    return posted_++;
  }
  void part_done(std::int64_t number) {
    GRADHAUL_ASSERT(number >= done_ && number < posted_ && at(number).parts_left > 0,
                    "each part is done once");
    --at(number).parts_left;
  }
  bool ready() const { return done_ < posted_ && at(done_).parts_left == 0; }
  // Of the oldest; returns its bytes.
  std::int64_t pop() {
    const std::int64_t bytes = at(done_++).bytes;
    bytes_done_ += bytes;
    return bytes;
  }

 private:
  struct Write {
    std::int64_t bytes = 0;
    int parts_left = 0;
  };
  Write& at(std::int64_t number) {
    return writes_[static_cast<std::size_t>(number) % writes_.size()];
  }
  const Write& at(std::int64_t number) const {
    return writes_[static_cast<std::size_t>(number) % writes_.size()];
  }
  int most_;
  std::vector<Write> writes_;
  std::int64_t posted_ = 0;
  std::int64_t done_ = 0;
  std::int64_t bytes_done_ = 0;
};

// At the end that receives data: parts say which write they belong to, by the lower bits of its
// number.
class ArrivingWrites {
 public:
  ArrivingWrites(int slots, std::uint32_t number_mask)
      : slots_(slots), number_mask_(number_mask), writes_(std::bit_ceil(std::size_t(slots))) {}

  std::int64_t delivered() const { return delivered_; }
  std::int64_t bytes_delivered() const { return bytes_delivered_; }

  // false: no such write can be on its way, so the peer counts otherwise than this rank.
  bool part_arrived(std::uint32_t number, int parts, std::int64_t bytes) {
    const auto ahead =
        (number - static_cast<std::uint32_t>(delivered_ & number_mask_)) & number_mask_;
    if (ahead >= static_cast<std::uint32_t>(slots_)) return false;
    Write& write = at(delivered_ + ahead);
    if (write.parts_seen == 0) write = {.bytes = 0, .parts = parts, .parts_seen = 0};
    if (write.parts != parts || write.parts_seen == parts) return false;
    ++write.parts_seen;
    write.bytes += bytes;
    return true;
  }
  bool ready() const { return whole(delivered_); }
  // How many from the first on have arrived as a whole, delivered or not.
  std::int64_t arrived() const {
    std::int64_t number = delivered_;
    while (number < delivered_ + slots_ && whole(number)) ++number;
    return number;
  }
  std::int64_t pop() {
    Write& oldest = at(delivered_++);
    const std::int64_t bytes = oldest.bytes;
    oldest = {};
    bytes_delivered_ += bytes;
    return bytes;
  }

 private:
  struct Write {
    std::int64_t bytes = 0;
    int parts = 0;
    int parts_seen = 0;
  };
  Write& at(std::int64_t number) {
    return writes_[static_cast<std::size_t>(number) % writes_.size()];
  }
  const Write& at(std::int64_t number) const {
    return writes_[static_cast<std::size_t>(number) % writes_.size()];
  }
  bool whole(std::int64_t number) const {
    const Write& write = at(number);
    return write.parts_seen > 0 && write.parts_seen == write.parts;
  }
  int slots_;
  std::uint32_t number_mask_;
  std::vector<Write> writes_;
  std::int64_t delivered_ = 0;
  std::int64_t bytes_delivered_ = 0;
};

}  // namespace gradhaul
