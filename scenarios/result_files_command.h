#pragma once

// What commands that fill a table share: its files, and what the scenario expects of it.

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

// `Result`: a Prediction or a Measurement. Whether both could be written; complains where not.
template <typename Result>
bool write_result_files(const ResultFiles& files, const Result& result, const Scenario& scenario,
                        const CommandContext& context) {
  try {
    if (!files.json.empty()) {
      write_file_whole(files.json,
                       result_json_text(result, record_of_scenario(scenario), context.version));
    }
    if (!files.csv.empty()) write_file_whole(files.csv, result_csv(result));
  } catch (const FileError& error) {
    complain(error.what());
    return false;
  }
  return true;
}

std::vector<Expectation> expectations_of(const Scenario& scenario);

}  // namespace gradhaul
