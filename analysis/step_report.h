#pragma once

// What is printed of a training step: the table with a row for each kind of message, then how long
// the step takes, where that time goes, the last buckets, and what a GPU has to hold. Every line
// but the table's rows begins with '#'.

#include <string>
#include <string_view>

#include "analysis/run_description.h"
#include "core/result.h"
#include "core/step_timeline.h"

namespace gradhaul {

std::string step_report(const Prediction& prediction, const TrainingStep& step,
                        const StepOutcome& outcome, const RunDescription& run);

std::string_view name_of(Sharding sharding);  // "zero1"
std::string_view name_of(StepLane lane);      // "compute", "tensor", "data"

}  // namespace gradhaul
