#include "sim/event_wheel.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace gradhaul {

EventWheel::EventWheel() { heads_.fill(-1); }

bool EventWheel::later(const Far& a, const Far& b) {
  if (a.event.time != b.event.time) return a.event.time > b.event.time;
  if (a.event.order != b.event.order) return a.event.order > b.event.order;
  return a.sequence > b.sequence;
}

void EventWheel::schedule(const Event& event) {
  ++pending_;
  const std::int64_t bucket = event.time >> kBucketBits;
  if (bucket <= current_bucket_) {
    GRADHAUL_ASSERT(cursor_ == 0 || event.time >= opened_[cursor_ - 1].time,
                    "no event lies in the past");
    insert_current(event);
  } else if (bucket - current_bucket_ < kBuckets) {
    put_in_bucket(event);
  } else {
    far_.push_back({event, far_sequence_++});
    std::push_heap(far_.begin(), far_.end(), later);
  }
}

void EventWheel::put_in_bucket(const Event& event) {
  std::int32_t index = free_;
  if (index >= 0) {
    free_ = pool_[static_cast<std::size_t>(index)].next;
  } else {
    index = static_cast<std::int32_t>(pool_.size());
    pool_.emplace_back();
  }
  const std::size_t slot =
      static_cast<std::size_t>(event.time >> kBucketBits) & static_cast<std::size_t>(kBuckets - 1);
  pool_[static_cast<std::size_t>(index)] = {event, heads_[slot]};
  heads_[slot] = index;
  occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
  ++near_;
}

// Behind everything that comes before it or ties with it: first in, first out.
void EventWheel::insert_current(const Event& event) {
  const auto next = opened_.begin() + static_cast<std::ptrdiff_t>(cursor_);
  opened_.insert(std::upper_bound(next, opened_.end(), event, before), event);
}

std::int64_t EventWheel::next_occupied(std::int64_t from) const {
  std::int64_t bucket = from;
  while (true) {
    const std::size_t slot =
        static_cast<std::size_t>(bucket) & static_cast<std::size_t>(kBuckets - 1);
    const std::uint64_t word = occupied_[slot / 64] >> (slot % 64);
    if (word != 0) return bucket + std::countr_zero(word);
    bucket += 64 - static_cast<std::int64_t>(slot % 64);
  }
}

// The list of a bucket is last in, first out; turned round, a stable sort keeps ties in order.
// Where parts of a cluster are alike, many events fall together.
void EventWheel::sort_opened() {
  constexpr std::size_t kFew = 24;
  if (opened_.size() > kFew) return std::stable_sort(opened_.begin(), opened_.end(), before);
  for (std::size_t i = 1; i < opened_.size(); ++i) {
    const Event event = opened_[i];
    std::size_t place = i;
    while (place > 0 && before(event, opened_[place - 1])) {
      opened_[place] = opened_[place - 1];
      --place;
    }
    opened_[place] = event;
  }
}

std::vector<Event> EventWheel::pending() const {
  std::vector<Event> all(opened_.begin() + static_cast<std::ptrdiff_t>(cursor_), opened_.end());
  // Far ones were scheduled before near ones that tie with them; lists are last in, first out.
  std::vector<Far> far = far_;
  std::sort(far.begin(), far.end(), [](const Far& a, const Far& b) { return later(b, a); });
  for (const Far& waiting : far) all.push_back(waiting.event);
  std::vector<Event> listed;
  for (const std::int32_t head : heads_) {
    listed.clear();
    for (std::int32_t i = head; i >= 0; i = pool_[static_cast<std::size_t>(i)].next) {
      listed.push_back(pool_[static_cast<std::size_t>(i)].event);
    }
    all.insert(all.end(), listed.rbegin(), listed.rend());
  }
  std::stable_sort(all.begin(), all.end(), before);
  return all;
}

bool EventWheel::open_next_bucket() {
  opened_.clear();
  cursor_ = 0;
  if (pending_ == 0) return false;
  std::int64_t bucket =
      near_ > 0 ? next_occupied(current_bucket_ + 1) : std::numeric_limits<std::int64_t>::max();
  if (!far_.empty()) bucket = std::min(bucket, far_.front().event.time >> kBucketBits);
  current_bucket_ = bucket;
  const std::size_t slot =
      static_cast<std::size_t>(bucket) & static_cast<std::size_t>(kBuckets - 1);
  // A slot holds one bucket's events only: those that are less than a turn of the wheel ahead.
  for (std::int32_t i = heads_[slot]; i >= 0;) {
    Stored& stored = pool_[static_cast<std::size_t>(i)];
    const std::int32_t next = stored.next;
    opened_.push_back(stored.event);
    stored.next = free_;
    free_ = i;
    i = next;
    --near_;
  }
  heads_[slot] = -1;
  occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  std::reverse(opened_.begin(), opened_.end());
  // What waited in the heap was scheduled before anything in the bucket that ties with it.
  std::vector<Event>::difference_type from_far = 0;
  while (!far_.empty() && far_.front().event.time >> kBucketBits <= bucket) {
    opened_.insert(opened_.begin() + from_far++, far_.front().event);
    std::pop_heap(far_.begin(), far_.end(), later);
    far_.pop_back();
  }
  sort_opened();
  return true;
}

}  // namespace gradhaul
