#pragma once

// What a simulation itself costs: the one place of sim/ that looks at a real clock. Nothing that is
// simulated depends on it.

#include <cstdint>

#include "core/result.h"

namespace gradhaul {

class RunCostMeter {
 public:
  RunCostMeter();
  // Times since it was made, and the peak of memory.
  void measure(RunCost& cost) const;

 private:
  double wall_seconds() const;
  double cpu_seconds() const;
  static std::int64_t peak_rss_bytes();

  std::int64_t wall_ns_;
  std::int64_t cpu_ns_;
};

}  // namespace gradhaul
