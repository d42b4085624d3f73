#pragma once

// measure --pairs: writes between all pairs of nodes, and who is suspect.

#include <string>
#include <vector>

#include "analysis/pair_matrix.h"
#include "core/pair_time.h"
#include "core/result.h"
#include "scenarios/command_context.h"
#include "scenarios/measure_plan.h"

namespace gradhaul {

// What a NIC sends in a step of the scenario's collective, of its last size, is what is written;
// by each NIC of a node over verbs, else by whatever leads there; from memory that the options
// name. Throws ConfigError: one node.
PairSettings pair_settings(const MeasurePlan& plan, const MeasureOptions& options);

// With what the scenario predicts of each, and at which leaves they are.
PairMatrix predicted_pairs(const MeasurePlan& plan, const PairSettings& settings,
                           const std::vector<PairTime>& times, const std::string& backend);

// Prints the matrix beside the prediction and writes it where `json` names a file. The exit status
// of a measurement that went well: 3 where somebody is suspect.
int tell_pairs(const MeasurePlan& plan, const PairSettings& settings, const std::string& json,
               const std::vector<PairTime>& times, const Measurement& measurement,
               const CommandContext& context);

}  // namespace gradhaul
