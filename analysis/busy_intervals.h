#pragma once

// When something was busy, as a bounded number of intervals: those that are closer than `gap` to
// each other are one, and the gap grows where there would be too many. Times in ps.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradhaul {

struct BusyInterval {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t busy = 0;  // the rest are gaps
  std::int64_t bytes = 0;
  std::int64_t services = 0;
};

class BusyIntervals {
 public:
  explicit BusyIntervals(std::size_t most) : most_(most) {}

  // In the order of starts, without overlaps.
  void add(std::int64_t start, std::int64_t end, std::int64_t bytes);

  const std::vector<BusyInterval>& intervals() const { return intervals_; }
  // Gaps up to so long lie within intervals.
  std::int64_t gap() const { return gap_; }

 private:
  void join(const BusyInterval& next);

  std::size_t most_;
  std::int64_t gap_ = 0;
  std::vector<BusyInterval> intervals_;
};

}  // namespace gradhaul
