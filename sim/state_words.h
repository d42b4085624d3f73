#pragma once

// The state of a simulated run as a sequence of numbers, relative to the clock and to the place in
// the schedule: equal sequences at two moments mean that the same follows, as long as the schedule
// asks for the same. What is kept in pools (messages, operations, chains) is named by the order in
// which it is mentioned, not by where it lies.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <vector>

#include "sim/link_digest.h"

namespace gradhaul {

// Numbers things in the order in which they are first mentioned.
class MentionOrder {
 public:
  std::int64_t number(std::int32_t index) {
    const auto place = static_cast<std::size_t>(index);
    if (place >= numbers_.size()) numbers_.resize(place + 1, -1);
    if (numbers_[place] < 0) {
      numbers_[place] = static_cast<std::int32_t>(order_.size());
      order_.push_back(index);
    }
    return numbers_[place];
  }
  const std::vector<std::int32_t>& order() const { return order_; }
  void clear() {
    for (const std::int32_t index : order_) numbers_[static_cast<std::size_t>(index)] = -1;
    order_.clear();
  }

 private:
  std::vector<std::int32_t> numbers_;
  std::vector<std::int32_t> order_;
};

class StateWords {
 public:
  void begin(std::int64_t now) {
    now_ = now;
    words_.clear();
    messages_.clear();
    chains_.clear();
  }
  std::int64_t now() const { return now_; }

  template <std::integral... Words>
  void add(Words... words) {
    (words_.push_back(static_cast<std::int64_t>(words)), ...);
  }
  // A moment whose distance matters however far it lies back.
  void add_time(std::int64_t time) { words_.push_back(time == INT64_MAX ? time : time - now_); }
  // A moment that no longer matters once it is past.
  void add_due(std::int64_t time) { words_.push_back(std::max<std::int64_t>(0, time - now_)); }
  // When something began; negative: it has not.
  void add_since(std::int64_t time) { words_.push_back(time < 0 ? -1 : now_ - time); }
  void add_message(std::int32_t index) {
    words_.push_back(index < 0 ? -1 : messages_.number(index));
  }
  void add_chain(std::int32_t chain) { words_.push_back(chains_.number(chain)); }
  std::vector<std::int64_t>& words() { return words_; }
  const std::vector<std::int64_t>& words() const { return words_; }

  // What was mentioned, in that order.
  const std::vector<std::int32_t>& messages() const { return messages_.order(); }
  const std::vector<std::int32_t>& chains() const { return chains_.order(); }

  std::uint64_t hash() const {
    std::uint64_t hash = words_.size();
    for (const std::int64_t word : words_) {
      hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15;
      hash ^= hash >> 32;
    }
    return hash;
  }

 private:
  std::int64_t now_ = 0;
  std::vector<std::int64_t> words_;
  MentionOrder messages_;
  MentionOrder chains_;
};

}  // namespace gradhaul
