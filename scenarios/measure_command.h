#pragma once

// gradhaul measure: the same collective on real ranks, timed and checked.

#include "scenarios/command_context.h"
#include "scenarios/measure_options.h"

namespace gradhaul {

// The exit status.
int run_measure(const MeasureOptions& options, const CommandContext& context);

}  // namespace gradhaul
