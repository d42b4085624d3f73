#include "analysis/busy_intervals.h"

#include <algorithm>
#include <utility>

namespace gradhaul {
namespace {

constexpr std::int64_t kFirstGap = 1000;

}  // namespace

void BusyIntervals::join(const BusyInterval& next) {
  if (intervals_.empty() || next.start - intervals_.back().end > gap_) {
    intervals_.push_back(next);
    return;
  }
  BusyInterval& last = intervals_.back();
  last.end = std::max(last.end, next.end);
  last.busy += next.busy;
  last.bytes += next.bytes;
  last.services += next.services;
}

void BusyIntervals::add(std::int64_t start, std::int64_t end, std::int64_t bytes) {
  join({start, end, end - start, bytes, 1});
  while (intervals_.size() > most_) {
    gap_ = std::max(kFirstGap, gap_ * 2);
    for (const BusyInterval& interval : std::exchange(intervals_, {})) join(interval);
  }
}

}  // namespace gradhaul
