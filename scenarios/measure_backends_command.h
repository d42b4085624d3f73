#pragma once

// Runs this process' ranks of a measure over the backend that was asked for.

#include <stdexcept>
#include <string>
#include <vector>

#include "core/result.h"
#include "scenarios/measure_plan.h"

namespace gradhaul {

// "rank 3 uses communication.slot_size 1MiB, rank 0 512KiB"
class RanksDisagree : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Ranks did not come together.
class RendezvousFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws ConfigError where there is no such backend, RanksDisagree and RendezvousFailed before
// anything is measured. What fails later stands in the result. Where pairs are measured, `pairs` is
// where this process puts their times.
Measurement measure_with_backend(const MeasureOptions& options, const MeasurePlan& plan,
                                 std::vector<PairTime>& pairs);

}  // namespace gradhaul
