#pragma once

// All pairs of n in rounds in which each is in one pair at most: for even n every one in each of
// n - 1 rounds, for odd n one sits out in each of n rounds. The circle method (E. Lucas,
// "Recreations mathematiques", vol. 2, 1883, "les promenades du pensionnat").

#include <utility>
#include <vector>

namespace gradhaul {

// Each pair once, the lower number first. Fewer than two have no rounds.
std::vector<std::vector<std::pair<int, int>>> tournament(int n);

}  // namespace gradhaul
