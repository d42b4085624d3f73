#include "backends/spread/point_queue.h"

#include "core/assert.h"

namespace gradhaul {

PointQueue::PointQueue(std::size_t points) : states_(points), deaths_(points) {}

std::optional<std::size_t> PointQueue::take() {
  while (!given_back_.empty()) {
    const std::size_t point = given_back_.front();
    given_back_.pop_front();
    if (states_[point] != State::kWaiting) continue;
    states_[point] = State::kTaken;
    return point;
  }
  for (; next_ < states_.size(); ++next_) {
    if (states_[next_] != State::kWaiting) continue;
    states_[next_] = State::kTaken;
    return next_++;
  }
  return std::nullopt;
}

void PointQueue::give_back(std::size_t point) {
  if (states_[point] != State::kTaken) return;
  states_[point] = State::kWaiting;
  given_back_.push_back(point);
}

bool PointQueue::try_again(std::size_t point) {
  if (states_[point] != State::kTaken) return true;
  if (++deaths_[point] >= kMostTries) return false;
  give_back(point);
  return true;
}

bool PointQueue::settle(std::size_t point) {
  GRADHAUL_ASSERT(point < states_.size(), "there are no more points than were announced");
  if (states_[point] == State::kSettled) return false;
  states_[point] = State::kSettled;
  ++settled_;
  return true;
}

}  // namespace gradhaul
