#include "core/pair_time.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace gradhaul {

std::vector<bool> slow_pairs(const std::vector<PairTime>& times, Duration PairTime::*field,
                             double tolerance) {
  std::vector<std::int64_t> sorted;
  for (const PairTime& time : times) sorted.push_back((time.*field).ps);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<bool> slow;
  for (const PairTime& time : times) {
    const auto usual = static_cast<double>(sorted[sorted.size() * 3 / 4]);
    slow.push_back((1 - tolerance) * static_cast<double>((time.*field).ps) > usual);
  }
  return slow;
}

}  // namespace gradhaul
