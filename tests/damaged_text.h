#pragma once

// Texts with random damage, for tests that readers survive it. GRADHAUL_FUZZ_SECONDS in the
// environment has each of them go on for so long with ever new seeds; ctest -C Fuzz -L fuzz does.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace gradhaul {

// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
class DamageDraws {
 public:
  explicit DamageDraws(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return static_cast<std::size_t>((z ^ (z >> 31)) % bound);
  }

 private:
  std::uint64_t state_;
};

// `scraps`: pieces of its format that may turn up anywhere.
inline std::string damaged_text(std::string text, const std::vector<std::string>& scraps,
                                std::uint64_t seed) {
  DamageDraws draws(seed);
  for (std::size_t wounds = 1 + draws.below(6); wounds > 0 && !text.empty(); --wounds) {
    const std::size_t at = draws.below(text.size());
    switch (draws.below(5)) {
      case 0:
        text.erase(at, 1 + draws.below(40));
        break;
      case 1:
        text.insert(at, scraps[draws.below(scraps.size())]);
        break;
      case 2:
        text.insert(at, text.substr(draws.below(text.size()), 1 + draws.below(300)));
        break;
      case 3:
        text[at] = static_cast<char>(draws.below(256));
        break;
      default:
        if (draws.below(4) == 0) text.resize(at);
        break;
    }
  }
  return text;
}

// Calls `round` with the seeds 1, 2, …: as often as `least`, and until the time is over.
template <typename Round>
void for_seeds(std::uint64_t least, const Round& round) {
  const char* const asked = std::getenv("GRADHAUL_FUZZ_SECONDS");
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::seconds(asked != nullptr ? std::atoi(asked) : 0);
  for (std::uint64_t seed = 1; seed <= least || std::chrono::steady_clock::now() < until; ++seed) {
    if (!round(seed)) return;
  }
}

}  // namespace gradhaul
