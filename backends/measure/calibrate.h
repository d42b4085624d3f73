#pragma once

// Microbenchmarks between the first two ranks, and of the first one's memory and reducer: this is
// one rank's part, and all run it at once; further ranks look on.

#include <cstdint>
#include <optional>

#include "backends/measure/measure.h"
#include "core/calibration.h"

namespace gradhaul {

// The same samples on every rank, but for those of memory, reducer and registration, which the
// first rank alone has. Nothing where a rank was interrupted. Throws as WriteStream::times().
std::optional<Calibration> calibrate(const MeasureRequest& request, const RankResources& rank);

// Of a chunk of the ring whose slices are samples of CalibrationKind::kStep.
std::int64_t ring_slices(const CalibrationSettings& settings);

}  // namespace gradhaul
