#pragma once

// One point of a sweep, computed.

#include <cstddef>

#include "analysis/sweep_outcome.h"
#include "scenarios/sweep_plan.h"

namespace gradhaul {

// Whatever is wrong with the point is in the outcome; throws nothing but for want of memory.
SweepOutcome compute_point(const SweepPlan& plan, std::size_t point);

}  // namespace gradhaul
