#include "scenarios/result_files_command.h"

#include <iterator>
#include <utility>

#include "core/assert.h"
#include "scenarios/utf8.h"

namespace gradhaul {

void check_result_files(const ResultFiles& files) {
  const std::pair<const char*, std::string> named[] = {
      {"--json", files.json}, {"--csv", files.csv}, {"--trace", files.trace}};
  for (auto file = std::begin(named); file != std::end(named); ++file) {
    if (file->second.empty()) continue;
    for (auto other = std::begin(named); other != file; ++other) {
      if (other->second != file->second) continue;
      throw FileError(file->second + ": " + other->first + " and " + file->first +
                      " cannot both write it");
    }
    require_writable(file->second);
  }
}

ScenarioRecord record_of_scenario(const Scenario& scenario) {
  return {scenario.name, as_utf8(scenario.file), scenario.sha256, scenario.effective()};
}

bool write_texts(const ResultFiles& files, const std::function<std::string()>& json,
                 const std::function<std::string()>& csv) {
  try {
    if (!files.json.empty()) write_file_whole(files.json, json());
    if (!files.csv.empty()) write_file_whole(files.csv, csv());
  } catch (const FileError& error) {
    complain(error.what());
    return false;
  }
  return true;
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
