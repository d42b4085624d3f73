#pragma once

// gradhaul sweep: a scenario over many values of some keys, in parallel.

#include <string>
#include <vector>

#include "scenarios/command_context.h"
#include "scenarios/sweep_plan.h"

namespace gradhaul {

// What `--plot-kind` takes: "auto", "heat-map", ….
const std::vector<std::string>& sweep_picture_kinds();

// The exit status.
int run_sweep(const SweepOptions& options, const CommandContext& context);

}  // namespace gradhaul
