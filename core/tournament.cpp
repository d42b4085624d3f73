#include "core/tournament.h"

#include <algorithm>

namespace gradhaul {

std::vector<std::vector<std::pair<int, int>>> tournament(int n) {
  std::vector<std::vector<std::pair<int, int>>> rounds;
  if (n < 2) return rounds;
  // One stays where it is, the others go round; of odd n, the one that stays is nobody.
  const int seats = n + n % 2;
  const int circle = seats - 1;
  for (int round = 0; round < circle; ++round) {
    std::vector<std::pair<int, int>>& pairs = rounds.emplace_back();
    for (int i = 0; i < seats / 2; ++i) {
      const int one = i == 0 ? circle : (round + i) % circle;
      const int other = (round + circle - i) % circle;
      if (std::max(one, other) < n) pairs.emplace_back(std::min(one, other), std::max(one, other));
    }
    std::sort(pairs.begin(), pairs.end());
  }
  return rounds;
}

}  // namespace gradhaul
