#pragma once

// A comparison as files: JSON (schema "gradhaul.comparison/1") and rows as comma-separated values.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/comparison.h"

namespace gradhaul {

// With a line end.
std::string comparison_json_text(const Comparison& comparison, const std::string& version);

// Head and one line for each pair; what is not known stays empty.
std::string comparison_csv(const Comparison& comparison);

}  // namespace gradhaul
