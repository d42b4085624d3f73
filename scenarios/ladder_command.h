#pragma once

// --ladder of predict and measure, and compare of two ladders: what each layer gives by itself
// (core/ladder.h).

#include <optional>
#include <string>

#include "analysis/ladder_file.h"
#include "core/result.h"
#include "scenarios/command_context.h"
#include "scenarios/picture_command.h"
#include "scenarios/scenario.h"

namespace gradhaul {

// Throws ConfigError where the scenario has no ladder: one node, several collectives, or a plan
// still to choose.
void require_ladder(const Scenario& scenario);

// Throws SimulationError.
Ladder predicted_ladder(const Scenario& scenario, const PredictionRequest& request,
                        const Prediction& whole);
Ladder measured_ladder(const Scenario& scenario, const Measurement& measurement);

// Prints it, writes it where `json` and `csv` name files, and draws it where there is a picture.
// Whether all could be done; complains where not.
bool tell_ladder(const Ladder& ladder, const std::string& json, const std::string& csv,
                 const CommandContext& context, const Picture* picture = nullptr);

struct CompareOptions;
// The exit status; nothing where the files are not both ladders. Throws InputError, Incomparable,
// FileError.
std::optional<int> compare_ladder_files(const CompareOptions& options, double tolerance,
                                        const CommandContext& context, const Picture& picture);

}  // namespace gradhaul
