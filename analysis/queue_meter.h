#pragma once

// How many bytes wait somewhere over time, from what comes and what goes. What comes is told in the
// order of time, and so is what goes; either may be told ahead of the other.

#include <cstdint>
#include <deque>

#include "analysis/time_bins.h"

namespace gradhaul {

class QueueMeter {
 public:
  explicit QueueMeter(std::size_t most_bins) : depth_(BinKind::kPeak, most_bins) {}

  // At `time` so many bytes come, or (below 0) go.
  void change(std::int64_t time, std::int64_t bytes) {
    (bytes > 0 ? coming_ : going_).push_back({time, bytes});
    while (!coming_.empty() && !going_.empty()) take_next();
  }
  void end(std::int64_t time) {
    while (!coming_.empty() || !going_.empty()) take_next();
    settle(time);
  }

  TimeBins& depth() { return depth_; }
  const TimeBins& depth() const { return depth_; }

 private:
  struct Change {
    std::int64_t time;
    std::int64_t bytes;
  };

  void take_next() {
    const bool comes =
        going_.empty() || (!coming_.empty() && coming_.front().time <= going_.front().time);
    std::deque<Change>& from = comes ? coming_ : going_;
    settle(from.front().time);
    level_ += from.front().bytes;
    from.pop_front();
  }
  void settle(std::int64_t time) {
    depth_.add(since_, time, level_);
    since_ = time;
  }

  TimeBins depth_;
  std::deque<Change> coming_;
  std::deque<Change> going_;
  std::int64_t level_ = 0;
  std::int64_t since_ = 0;
};

}  // namespace gradhaul
