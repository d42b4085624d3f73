#pragma once

// What commands that fill a table share: its files, and what the scenario expects of it.

#include <functional>
#include <string>
#include <vector>

#include "analysis/expectation.h"
#include "analysis/result_csv.h"
#include "analysis/result_json.h"
#include "analysis/write_file_whole.h"
#include "scenarios/command_context.h"
#include "scenarios/scenario.h"

namespace gradhaul {

// Empty: none is written.
struct ResultFiles {
  std::string json;
  std::string csv;
  std::string trace = {};  // of predict alone
};

// Before the run, lest an hour of it is lost to a missing folder. Throws FileError.
void check_result_files(const ResultFiles& files);

ScenarioRecord record_of_scenario(const Scenario& scenario);

// Writes those that are asked for. Whether all could be written; complains where not.
bool write_texts(const ResultFiles& files, const std::function<std::string()>& json,
                 const std::function<std::string()>& csv);

// `Result`: a Prediction or a Measurement.
template <typename Result>
bool write_result_files(const ResultFiles& files, const Result& result, const Scenario& scenario,
                        const CommandContext& context) {
  return write_texts(
      files,
      [&] { return result_json_text(result, record_of_scenario(scenario), context.version); },
      [&] { return result_csv(result); });
}

std::vector<Expectation> expectations_of(const Scenario& scenario);

}  // namespace gradhaul
