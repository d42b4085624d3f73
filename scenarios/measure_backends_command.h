#pragma once

// Runs this process' ranks of a measure over the backend that was asked for.

#include <functional>
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

// What a plan may ask for instead of rows.
struct MeasuredAside {
  std::vector<PairTime> pairs;
  std::vector<Duration> rings;
  Calibration calibration;
  std::vector<std::string> hosts;  // MeasurePlan::host of each rank; of ranks that are threads, one
};

// Throws ConfigError where there is no such backend, RanksDisagree and RendezvousFailed before
// anything is measured. What fails later stands in the result.
Measurement measure_with_backend(const MeasureOptions& options, const MeasurePlan& plan,
                                 MeasuredAside& aside);

// The exit status of a command that calls it: of `command`, or where ranks did not come together.
int guarded_ranks(const MeasureOptions& options, const std::function<int()>& command);

}  // namespace gradhaul
