#pragma once

// The earliest of many times of which one changes at a time: a tree whose nodes hold the earlier of
// their two children's.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gradhaul {

class EarliestOf {
 public:
  // `count` times, INT64_MAX each.
  explicit EarliestOf(std::size_t count = 0) {
    while (leaves_ < count) leaves_ *= 2;
    nodes_.assign(2 * leaves_, INT64_MAX);
  }
  void set(std::size_t which, std::int64_t time) {
    std::size_t node = leaves_ + which;
    nodes_[node] = time;
    while (node > 1) {
      node /= 2;
      const std::int64_t earlier = std::min(nodes_[2 * node], nodes_[2 * node + 1]);
      if (nodes_[node] == earlier) return;
      nodes_[node] = earlier;
    }
  }
  // To `time`, if that is earlier.
  void bring_forward(std::size_t which, std::int64_t time) {
    if (time < nodes_[leaves_ + which]) set(which, time);
  }
  std::int64_t time() const { return nodes_[1]; }
  // One that has this time.
  std::size_t which() const {
    std::size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (nodes_[node + 1] < nodes_[node]) ++node;
    }
    return node - leaves_;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> nodes_;  // the root is 1; of one leaf it is the leaf
};

}  // namespace gradhaul
