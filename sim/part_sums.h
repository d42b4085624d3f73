#pragma once

// Time by key (resource and cause) of a chain of blame, cheap to add to however long the chain is:
// what was added last stands behind what has been summed up, and is summed up into it whenever it
// is half as long. A chain through a thousand GPUs has thousands of keys, and each message adds a
// dozen: kept sorted, half of each addition would be moving the rest out of its way.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gradhaul {

class PartSums {
 public:
  struct Entry {
    std::int64_t key;
    std::int64_t ps;
  };

  void add(const Entry& entry) {
    entries_.push_back(entry);
    if (entries_.size() >= sum_up_at_) sum_up();
  }
  // Those of both.
  void add(const PartSums& other) {
    for (const Entry& entry : other.entries_) add(entry);
  }
  // In no order, and of one key there may be several.
  const std::vector<Entry>& entries() const { return entries_; }
  // By key, one of each.
  std::vector<Entry> sums() const {
    PartSums copy = *this;
    copy.sum_up();
    return std::move(copy.entries_);
  }
  std::size_t size() const { return entries_.size(); }

 private:
  static constexpr std::size_t kFewest = 16;
  void sum_up();

  std::vector<Entry> entries_;  // the first `summed_` by key, one of each
  std::uint32_t summed_ = 0;
  std::uint32_t sum_up_at_ = kFewest;
};

}  // namespace gradhaul
