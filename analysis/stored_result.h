#pragma once

// A result file (schema "gradhaul.result/1") read back as the result that it was written from:
// rows with their parts, resources, counters, notes, and the scenario as it took effect.

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "analysis/result_json.h"
#include "core/result.h"

namespace gradhaul {

struct StoredResult {
  bool predicted = true;  // else measured
  std::string version;    // of gradhaul
  Prediction prediction;  // without rings and cost
  ScenarioRecord scenario;
};

// what(): what is wrong with the file, as "rows.0.time_us is missing or is no time".
class StoredResultError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether the text begins as a result file of this program, of whatever schema version.
bool is_stored_result(std::string_view text);

// The JSON of a file that this program wrote. Throws StoredResultError: it is none, or nested
// deeper than any such file.
nlohmann::ordered_json stored_json(std::string_view text);

// Throws StoredResultError: no JSON, another schema, a key that is missing or of another kind, or
// parts that do not add up to their time.
StoredResult read_stored_result(std::string_view text);
StoredResult stored_result_of(const nlohmann::ordered_json& json);

}  // namespace gradhaul
