#pragma once

// Whether credits are always there in time, where stations (sim/stations.h) leave them out: they
// count what a link has under way, and stop where a packet might have had to wait.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/growing_ring.h"

namespace gradhaul {

// Thrown where what stations leave out may have mattered, as credits that ran out, a packet that
// was marked: events have to step this world, or where it is for the credits of wires only,
// stations that wait for them (sim/credit_gate.h).
struct EventsNeeded {
  bool waiting_suffices = false;
};

// Of a link whose packets' credits are given back at times that others tell, before or after they
// have been taken.
class WireCredits {
 public:
  // `until_back`: ps from leaving the far end's buffer to being usable again. `waits`: what finds
  // none waits for them, and does nothing else.
  void start_with(std::int64_t window, std::int64_t until_back, bool waits) {
    window_ = window;
    until_back_ = until_back;
    waits_ = waits;
  }
  bool watched() const { return window_ > 0; }
  [[gnu::always_inline]] void take(std::int64_t now, std::int64_t units) {
    if (window_ == 0) return;
    taken_ += units;
    append(takes_, now, units);
  }
  // What took them leaves the far end's buffer.
  [[gnu::always_inline]] void leave(std::int64_t time, std::int64_t units) {
    if (window_ > 0) append(returns_, time + until_back_, units);
  }
  // Once all has been told that is given back before any credit that has been taken.
  void check() {
    if (takes_.empty()) return;
    // What is back only counts once it matters.
    if (under_way_ + taken_ > window_) absorb(takes_.front().first);
    if (under_way_ + taken_ > window_) return check_each();
    under_way_ += taken_;
    taken_ = 0;
    takes_.clear();
  }

 private:
  // Changes that follow each other in equal steps.
  struct Changes {
    std::int64_t first;
    std::int64_t step;
    std::int64_t count;
    std::int64_t units;  // of each
    std::int64_t next;   // if the steps go on
  };

  [[gnu::always_inline]] static void append(std::vector<Changes>& changes, std::int64_t time,
                                            std::int64_t units) {
    if (!changes.empty() && changes.back().units == units) {
      Changes& last = changes.back();
      if (last.next == time) {
        ++last.count;
        last.next += last.step;
        return;
      }
    }
    append_unlike(changes, time, units);
  }
  // Where the steps do not go on.
  [[gnu::noinline]] static void append_unlike(std::vector<Changes>& changes, std::int64_t time,
                                              std::int64_t units) {
    if (!changes.empty() && changes.back().units == units) {
      Changes& last = changes.back();
      if (last.count == 1 && time >= last.first) {
        last.step = time - last.first;
        last.count = 2;
        last.next = time + last.step;
        return;
      }
    }
    changes.push_back({time, 0, 1, units, INT64_MIN});
  }
  // All that is back by then.
  void absorb(std::int64_t time) {
    std::size_t kept = 0;
    for (Changes& back : returns_) {
      if (back.first <= time) {
        const std::int64_t last = back.first + (back.count - 1) * back.step;
        const std::int64_t count = last <= time ? back.count : (time - back.first) / back.step + 1;
        under_way_ -= count * back.units;
        back.count -= count;
        back.first += count * back.step;
        if (back.count == 0) continue;
      }
      returns_[kept++] = back;
    }
    returns_.resize(kept);
  }
  // As many at once as the window takes.
  void check_each() {
    for (const Changes& takes : takes_) {
      for (std::int64_t checked = 0; checked < takes.count;) {
        absorb(takes.first + checked * takes.step);
        const std::int64_t fit =
            std::min(takes.count - checked, (window_ - under_way_) / takes.units);
        if (fit <= 0) throw EventsNeeded{waits_};
        under_way_ += fit * takes.units;
        checked += fit;
      }
    }
    taken_ = 0;
    takes_.clear();
  }

  std::int64_t window_ = 0;  // 0: none are needed
  std::int64_t until_back_ = 0;
  bool waits_ = false;
  std::int64_t under_way_ = 0;
  std::int64_t taken_ = 0;  // by all takes_
  std::vector<Changes> takes_;
  std::vector<Changes> returns_;  // few, in no order
};

// Of a PCIe link whose trains are passed on as they come: the credit of each unit is back one loop
// after it left.
class TrainCredits {
 public:
  void start_with(std::int64_t window, std::int64_t loop) {
    window_ = window;
    loop_ = loop;
  }
  // From now on trains of so many units, which take `time` each, need not be told of, if the window
  // takes as many as fit on the link. `time` must be that of all of these.
  void leave_out(std::int64_t units, std::int64_t time) {
    if (window_ == 0 || time <= 0) return;
    const std::int64_t most = (loop_ * units + time - 1) / time + units + 1;
    left_out_ = most <= window_ ? most : 0;
    plain_units_ = units;
    plain_time_ = time;
  }
  // Those need not be told of.
  bool leaves_out() const { return left_out_ > 0 || window_ == 0; }
  [[gnu::always_inline]] void take(std::int64_t now, std::int64_t units, std::int64_t time) {
    if (window_ == 0) return;
    // In place of as much of those that are left out.
    if (left_out_ > 0) units = std::max<std::int64_t>(0, units - time * plain_units_ / plain_time_);
    if (units == 0) return;
    const std::int64_t first = now + loop_;
    if (!trains_.empty() && trains_.back().next == first && trains_.back().like(units, time)) {
      ++trains_.back().count;
      trains_.back().next += trains_.back().step;
    } else {
      append_unlike(first, units, time);
    }
    under_way_ += units;
    if (under_way_ > most()) look(now);
  }

 private:
  // That follow each other in equal steps.
  struct Trains {
    std::int64_t first;  // ps: when the first one's first credit is back
    std::int64_t step;
    std::int64_t count;
    std::int64_t next;   // if the steps go on
    std::int64_t units;  // of each
    std::int64_t time;   // ps, in which the others of a train follow its first

    bool like(std::int64_t other_units, std::int64_t other_time) const {
      return units == other_units && time == other_time;
    }
  };
  // Where the steps do not go on.
  [[gnu::noinline]] void append_unlike(std::int64_t first, std::int64_t units, std::int64_t time) {
    if (!trains_.empty() && trains_.back().count == 1 && trains_.back().like(units, time)) {
      Trains& last = trains_.back();
      last.step = first - last.first;
      last.count = 2;
      last.next = first + last.step;
      return;
    }
    trains_.push({first, 0, 1, INT64_MIN, units, time});
  }
  // What is back only counts once it matters.
  [[gnu::noinline]] void look(std::int64_t now) {
    while (!trains_.empty()) {
      Trains& oldest = trains_.front();
      const std::int64_t since = now - oldest.time - oldest.first;  // the first was back in whole
      if (since < 0) break;
      const std::int64_t back =
          oldest.step == 0 ? oldest.count : std::min(oldest.count, since / oldest.step + 1);
      under_way_ -= back * oldest.units;
      oldest.count -= back;
      oldest.first += back * oldest.step;
      if (oldest.count > 0) break;
      trains_.pop();
    }
    if (under_way_ - partly_back(now) > most()) throw EventsNeeded{};
  }
  std::int64_t most() const { return window_ - left_out_; }
  // Of the oldest train, the only one that may partly be back.
  std::int64_t partly_back(std::int64_t now) const {
    if (trains_.empty() || trains_.front().first > now) return 0;
    const Trains& oldest = trains_.front();
    return (now - oldest.first) * oldest.units / oldest.time + 1;
  }

  std::int64_t window_ = 0;
  std::int64_t loop_ = 0;
  std::int64_t under_way_ = 0;
  std::int64_t left_out_ = 0;  // of the window, for those that are not told of; 0: all are
  std::int64_t plain_units_ = 0;
  std::int64_t plain_time_ = 1;
  GrowingRing<Trains> trains_;
};

}  // namespace gradhaul
