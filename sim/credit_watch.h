#pragma once

// Whether credits are always there in time, where stations (sim/stations.h) leave them out: they
// count what a link has under way, and stop where a packet might have had to wait.

#include <cstdint>

#include "sim/growing_ring.h"

namespace gradhaul {

// Thrown where credits may have run out: events have to step this world.
struct CreditsRanOut {};

// Of a link whose packets' credits are given back at times that others tell.
class WireCredits {
 public:
  void start_with(std::int64_t window) { window_ = window; }
  // What is not known to be back counts as under way.
  void take(std::int64_t now, std::int64_t units) {
    if (window_ == 0) return;
    while (!returns_.empty() && returns_.front().time <= now) {
      under_way_ -= returns_.front().units;
      returns_.pop();
    }
    under_way_ += units;
    if (under_way_ > window_) throw CreditsRanOut{};
  }
  void give_back(std::int64_t time, std::int64_t units) {
    if (window_ > 0) returns_.push({time, units});
  }

 private:
  struct Return {
    std::int64_t time;
    std::int64_t units;
  };
  std::int64_t window_ = 0;  // 0: none are needed
  std::int64_t under_way_ = 0;
  GrowingRing<Return> returns_;
};

// Of a PCIe link whose trains are passed on as they come: the credit of each unit is back one loop
// after it left.
class TrainCredits {
 public:
  void start_with(std::int64_t window, std::int64_t loop) {
    window_ = window;
    loop_ = loop;
  }
  void take(std::int64_t now, std::int64_t units, std::int64_t time) {
    if (window_ == 0) return;
    while (!trains_.empty() && trains_.front().first + trains_.front().time <= now) {
      under_way_ -= trains_.front().units;
      trains_.pop();
    }
    if (under_way_ + units > window_ && under_way_ - back(now) + units > window_) {
      throw CreditsRanOut{};
    }
    trains_.push({now + loop_, time, units});
    under_way_ += units;
  }

 private:
  struct Train {
    std::int64_t first;  // ps: when its first credit is back
    std::int64_t time;   // ps, in which the others follow
    std::int64_t units;
  };
  // Of the oldest train, the only one that may partly be back.
  std::int64_t back(std::int64_t now) const {
    if (trains_.empty() || trains_.front().first > now) return 0;
    const Train& oldest = trains_.front();
    return (now - oldest.first) * oldest.units / oldest.time + 1;
  }

  std::int64_t window_ = 0;
  std::int64_t loop_ = 0;
  std::int64_t under_way_ = 0;
  GrowingRing<Train> trains_;
};

}  // namespace gradhaul
