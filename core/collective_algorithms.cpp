#include "core/collective_algorithms.h"

#include <array>

namespace gradhaul {

std::string_view name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kDoubleBinaryTree:
      return "double_binary_tree";
    case Algorithm::kPairwise:
      break;
  }
  return "pairwise";
}

std::span<const Algorithm> algorithms_of(Collective collective) {
  static constexpr std::array kAllReduce{Algorithm::kRing, Algorithm::kDoubleBinaryTree};
  static constexpr std::array kExchanges{Algorithm::kPairwise};
  if (collective == Collective::kAllReduce) return kAllReduce;
  return kExchanges;
}

}  // namespace gradhaul
