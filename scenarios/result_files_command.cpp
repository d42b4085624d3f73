#include "scenarios/result_files_command.h"

#include "core/assert.h"
#include "scenarios/utf8.h"

namespace gradhaul {

void check_result_files(const ResultFiles& files) {
  if (!files.json.empty() && files.json == files.csv) {
    throw FileError(files.json + ": --json and --csv cannot both write it");
  }
  for (const std::string& path : {files.json, files.csv}) {
    if (!path.empty()) require_writable(path);
  }
}

ScenarioRecord record_of_scenario(const Scenario& scenario) {
  return {scenario.name, as_utf8(scenario.file), scenario.sha256, scenario.effective()};
}

std::vector<Expectation> expectations_of(const Scenario& scenario) {
  std::vector<Expectation> expectations;
  for (const ExpectedValue& expected : scenario.expectations) {
    const auto quantity = expected_quantity(expected.name);
    const auto relation = relation_of(expected.sign);
    GRADHAUL_ASSERT(quantity && relation, "the reader knows the names and signs there are");
    expectations.push_back({*quantity, *relation, expected.value, expected.limited_by});
  }
  return expectations;
}

}  // namespace gradhaul
