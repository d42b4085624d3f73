#pragma once

// A result file (interface.md, section 5), schema "gradhaul.result/1". The order of keys is fixed
// and numbers are the shortest that read back the same, so equal predictions give equal bytes, but
// for `cost`, which comes last.

#include <nlohmann/json.hpp>
#include <string>

#include "core/result.h"

namespace gradhaul {

// The scenario as a result file repeats it.
struct ScenarioRecord {
  std::string name;
  std::string file;                  // the path as it was given, or found
  std::string sha256;                // of the file, in hexadecimal
  nlohmann::ordered_json effective;  // every key, with defaults filled in
};

// Null where there is none.
inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

// The profile of what a scenario said in effect; empty where it does not tell.
template <typename Json>
std::string profile_of(const Json& effective) {
  const typename Json::json_pointer place("/communication/profile");
  if (!effective.contains(place) || !effective.at(place).is_string()) return "";
  return effective.at(place).template get<std::string>();
}

// `version` is gradhaul's. Aborts where the parts of a row do not add up to its time.
nlohmann::ordered_json result_json(const Prediction& prediction, const ScenarioRecord& scenario,
                                   const std::string& version);

// The text of the file: indented by two, with a line end.
std::string result_json_text(const Prediction& prediction, const ScenarioRecord& scenario,
                             const std::string& version);

// The same of what was measured: kind "measured", an engine that names its backend, rows with
// `wrong`, `in_place`, the spread of their iterations, and no parts of their time.
nlohmann::ordered_json result_json(const Measurement& measurement, const ScenarioRecord& scenario,
                                   const std::string& version);
std::string result_json_text(const Measurement& measurement, const ScenarioRecord& scenario,
                             const std::string& version);

}  // namespace gradhaul
