#pragma once

// Which points of a sweep are to be computed, and which are settled. Points are numbers from 0.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace gradhaul {

class PointQueue {
 public:
  // A process that dies may have been the victim of another; two are the point's own fault.
  static constexpr int kMostTries = 2;

  explicit PointQueue(std::size_t points);

  // The next point that nobody computes, in order; those that were given back come first.
  std::optional<std::size_t> take();
  // Whoever took it is gone, through no fault of the point.
  void give_back(std::size_t point);
  // The process that computed it died. False: too often by now; the point is for the caller to
  // settle.
  bool try_again(std::size_t point);
  // There is an answer. False where there was one already, which stays.
  bool settle(std::size_t point);

  bool is_settled(std::size_t point) const { return states_[point] == State::kSettled; }
  std::size_t settled() const { return settled_; }
  bool over() const { return settled_ == states_.size(); }

 private:
  enum class State : std::uint8_t { kWaiting, kTaken, kSettled };

  std::vector<State> states_;
  std::vector<std::uint8_t> deaths_;
  std::deque<std::size_t> given_back_;
  std::size_t next_ = 0;
  std::size_t settled_ = 0;
};

}  // namespace gradhaul
