#include "sim/idle_copy.h"

#include <algorithm>

#include "sim/copy_engine.h"

namespace gradhaul {

std::int64_t IdleCopy::pass(std::int64_t size, std::int64_t ready) {
  asked_ = std::max(asked_, ready);
  std::int64_t there = asked_;
  for (std::int64_t copied = 0; copied < size;) {
    const std::int64_t payload = std::min<std::int64_t>(kCopyTrain, size - copied);
    const std::int64_t room = in_ ? kCopyWindow : kCopyBuffer;
    while (outstanding_ > 0 && outstanding_ + payload > room) {
      asked_ = std::max(asked_, held_.front().until);
      outstanding_ -= held_.front().bytes;
      held_.pop_front();
    }
    outstanding_ += payload;
    copied += payload;
    std::int64_t start = asked_;
    if (in_) {
      const std::int64_t requests = (payload + request_bytes_ - 1) / request_bytes_;
      start = requests_.pass({0, requests}, asked_).delivered + reading_;
    }
    const IdleRoute::Passage passage = data_.pass({payload}, start);
    there = passage.delivered;
    held_.push_back({in_ ? there : passage.first_start, payload});
  }
  return there;
}

}  // namespace gradhaul
