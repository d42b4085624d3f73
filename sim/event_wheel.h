#pragma once

// The order of events, and the queue that keeps it. Ties belong to the model: at one picosecond,
// departures and credit returns come first, then pause, then arrivals, then starts; releases by
// link, arrivals by the flow's number on the link, and what an endpoint is to do last, by kind and
// place; then first in, first out. Starts are not events: the engine decides them when every event
// of the instant has been handled.
//
// A timing wheel of 1.024 ns buckets covers the next 2 us; what lies further ahead waits in a heap.
// Events of a bucket are sorted when it is opened. Nothing is allocated once the pool has grown.

#include <array>
#include <cstdint>
#include <vector>

#include "core/assert.h"

namespace gradhaul {

enum class Phase : std::uint8_t { kRelease, kPause, kArrival };

struct Event {
  std::int64_t time = 0;    // ps
  std::uint32_t order = 0;  // see event_order()
  std::uint32_t what = 0;   // for the engine: kind and index
};

// Flows (on a link) and an endpoint's places are numbered below these.
inline constexpr std::uint32_t kMostFlows = std::uint32_t{1} << 27;
inline constexpr std::uint32_t kMostPlaces = std::uint32_t{1} << 22;
inline constexpr std::uint32_t kMostKinds = 25;

// `within` the phase: a link or a flow's number on it, or what an endpoint asked for.
constexpr std::uint32_t event_order(Phase phase, std::uint32_t within) {
  return static_cast<std::uint32_t>(phase) << 28 | within;
}
constexpr std::uint32_t endpoint_order(std::uint32_t kind, std::uint32_t place) {
  return kMostFlows + kind * kMostPlaces + place;
}

class EventWheel {
 public:
  EventWheel();

  // `event.time` is not before the last event taken.
  void schedule(const Event& event);
  // Time of the next event; INT64_MAX when there is none.
  std::int64_t next_time() {
    if (cursor_ == opened_.size() && !open_next_bucket()) return INT64_MAX;
    return opened_[cursor_].time;
  }
  // Whether an event at the time of the last one taken is left. Looks no further ahead: asking for
  // the next time would open the next bucket, and what is then scheduled before it must be sorted
  // in.
  bool more_at(std::int64_t time) const {
    return cursor_ < opened_.size() && opened_[cursor_].time == time;
  }
  // Takes the next event; there is one.
  Event take() {
    if (cursor_ == opened_.size()) {
      const bool any = open_next_bucket();
      GRADHAUL_ASSERT(any, "there is an event to take");
    }
    --pending_;
    return opened_[cursor_++];
  }
  // All events to come, in their order.
  std::vector<Event> pending() const;
  bool empty() const { return pending_ == 0; }
  std::int64_t size() const { return pending_; }

 private:
  static constexpr int kBucketBits = 10;  // 1.024 ns
  static constexpr std::int64_t kBuckets = 2048;

  struct Stored {
    Event event;
    std::int32_t next;
  };
  struct Far {
    Event event;
    std::uint64_t sequence;
  };

  static bool before(const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.order < b.order;
  }
  static bool later(const Far& a, const Far& b);
  void put_in_bucket(const Event& event);
  void insert_current(const Event& event);
  bool open_next_bucket();
  std::int64_t next_occupied(std::int64_t from) const;
  void sort_opened();

  std::vector<Stored> pool_;
  std::int32_t free_ = -1;
  std::array<std::int32_t, kBuckets> heads_;
  std::array<std::uint64_t, kBuckets / 64> occupied_{};
  std::int64_t current_bucket_ = 0;  // its events are in opened_
  std::vector<Event> opened_;
  std::size_t cursor_ = 0;
  std::vector<Far> far_;  // a heap
  std::uint64_t far_sequence_ = 0;
  std::int64_t near_ = 0;  // events in buckets
  std::int64_t pending_ = 0;
};

}  // namespace gradhaul
