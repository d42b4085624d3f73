#pragma once

// Credits on their way back to one transmitter, of one class: runs of units whose times are evenly
// spaced, in order. Times may lie in the future: a credit is known as soon as it is decided when it
// will be back, and may be counted on by a train that will only then need it.

#include <cstdint>
#include <memory>

#include "core/assert.h"
#include "sim/fabric.h"
#include "sim/state_words.h"

namespace gradhaul {

struct CreditRun {
  std::int64_t first = 0;    // ps: when the first unit's credit is usable
  std::int64_t spacing = 0;  // ps to the next, below 2^31
  std::int64_t units = 0;
  ResourceId culprit = kNoResource;  // what the units waited for before they left the buffer
  std::int32_t order = 0;            // among runs that begin to be back at the same time
};

class CreditReturns {
 public:
  void start_with(std::int64_t window) { window_ = available_ = static_cast<std::int32_t>(window); }
  bool guarded() const { return window_ > 0; }
  std::int64_t window() const { return window_; }
  // Usable now, as of the last absorb().
  std::int64_t available() const { return available_; }
  // Usable now or at a known time.
  std::int64_t known() const { return available_ + coming_; }
  // What the latest of those that are back by `now` had waited for.
  ResourceId culprit(std::int64_t now) const;

  void add(const CreditRun& run);
  // Makes usable what is back by `now`.
  void absorb(std::int64_t now);
  // How many of the first `units` of a train that starts at `now`, one unit every `unit_time`, find
  // their credit in time.
  std::int64_t gapless(std::int64_t now, std::int64_t unit_time, std::int64_t units) const;
  // When a train of `units` (at most known()) can start so that each finds its credit in time.
  std::int64_t start_for(std::int64_t now, std::int64_t unit_time, std::int64_t units) const;
  // When `units` (at most known()) are usable together.
  std::int64_t time_of(std::int64_t now, std::int64_t units) const;
  // What decides about the future, whatever has been made usable already.
  void append_state(StateWords& words) const;
  // Uses the earliest `units`, at most known().
  void take(std::int64_t units) {
    if (units <= available_) {
      available_ -= static_cast<std::int32_t>(units);
    } else {
      take_coming(units);
    }
  }

 private:
  // A run as it is kept: small, since one is written and read again for nearly every packet.
  struct Kept {
    std::int64_t first = 0;
    std::int32_t spacing = 0;
    std::int32_t units = 0;
    ResourceId culprit = kNoResource;
    std::int32_t order = 0;
    bool after(const CreditRun& other) const {
      return first != other.first ? first > other.first : order > other.order;
    }
    // Of a run whose first unit is back, how many are.
    std::int32_t back_by(std::int64_t now) const {
      const std::int64_t last = first + std::int64_t{spacing} * (units - 1);
      return last > now ? static_cast<std::int32_t>((now - first) / spacing) + 1 : units;
    }
  };
  const Kept& run(std::int32_t i) const {
    return runs_[(head_ + static_cast<std::uint32_t>(i)) & mask_];
  }
  Kept& run(std::int32_t i) { return runs_[(head_ + static_cast<std::uint32_t>(i)) & mask_]; }
  void grow();
  void take_coming(std::int64_t units);
  void drop_front() {
    ++head_;
    --count_;
  }

  std::int32_t window_ = 0;
  std::int32_t available_ = 0;
  std::int32_t coming_ = 0;
  ResourceId last_culprit_ = kNoResource;
  std::uint32_t head_ = 0;
  std::int32_t count_ = 0;
  std::uint32_t mask_ = 0;
  std::unique_ptr<Kept[]> runs_;  // a ring of mask_ + 1, a power of two
};

}  // namespace gradhaul
