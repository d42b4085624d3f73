#pragma once

// Random draws for the simulator's tests: hashes of a seed and a counter.

#include <cstdint>

#include "sim/link_digest.h"

namespace gradhaul::examples {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(mix64(seed + 1)) {}
  // 0 .. below - 1.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(mix64(seed_ + ++count_ * 0x9E3779B97F4A7C15) %
                                     static_cast<std::uint64_t>(bound));
  }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + below(most - least + 1);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

}  // namespace gradhaul::examples
