#pragma once

// The collective of a training step's largest bucket as a scenario of its own: what stands for the
// step where one collective is asked for.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace gradhaul {

// The settings that make it of a scenario that was read with `settings`. Throws ConfigError where
// not all ranks reduce together.
std::vector<std::string> bucket_settings(const Scenario& scenario,
                                         const std::vector<std::string>& settings);

// Whether a filled-in scenario asks for a step.
bool is_of_step(const nlohmann::ordered_json& effective);

}  // namespace gradhaul
