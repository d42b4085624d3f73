#pragma once

// JSON from files that somebody handed over: errors with line and column, and bounds on what may
// be made of a hostile file.

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/compared_run.h"

namespace gradhaul {

// Values under the names in `ignored` are skipped. Throws InputError: no JSON, nested deeper than
// 64, or more than eight million values.
nlohmann::json parse_json_text(std::string_view text, const std::string& source,
                               std::initializer_list<std::string_view> ignored = {});

// A member by name; null where there is none, or `object` is no object.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

std::string text_of(const nlohmann::json& value);  // empty: no text
std::optional<double> real_of(const nlohmann::json& value);
std::optional<std::int64_t> whole_of(const nlohmann::json& value);  // of texts too ("    -1")

}  // namespace gradhaul
