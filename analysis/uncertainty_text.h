#pragma once

// How far times may be off because of estimates, for reports and result files.

#include <nlohmann/json.hpp>
#include <string>

#include "core/result.h"

namespace gradhaul {

// Lines that begin with '#': each row's range and what moves it most; of the last row all
// estimates. Empty where no row has any.
std::string uncertainty_text(const Prediction& prediction);

// The same of a training step that takes `step`.
std::string step_uncertainty_text(Duration step, const Uncertainty& uncertainty);

nlohmann::ordered_json uncertainty_json(const Uncertainty& uncertainty);

// "read latency of GPU memory"; a key that is not known is its own name.
std::string estimate_in_words(const std::string& key);

}  // namespace gradhaul
