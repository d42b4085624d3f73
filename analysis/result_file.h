#pragma once

// Result files of our own (schema gradhaul.result/1; analysis/result_json.h writes them), predicted
// or measured, read back for a comparison.

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/compared_run.h"

namespace gradhaul {

// Whether the JSON is one, of whatever version.
bool is_result_file(const nlohmann::json& json);

// Throws InputError naming the first key that is missing or of the wrong kind.
ComparedRun read_result_file(const nlohmann::json& json, const std::string& source);

}  // namespace gradhaul
