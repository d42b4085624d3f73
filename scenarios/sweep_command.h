#pragma once

// gradhaul sweep: a scenario over many values of some keys, in parallel.

#include "scenarios/command_context.h"
#include "scenarios/sweep_plan.h"

namespace gradhaul {

// The exit status.
int run_sweep(const SweepOptions& options, const CommandContext& context);

}  // namespace gradhaul
