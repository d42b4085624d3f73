#include "scenarios/measure_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/expectation.h"
#include "analysis/report.h"
#include "analysis/run_description.h"
#include "scenarios/exit_status.h"
#include "scenarios/measure_backends_command.h"
#include "scenarios/measure_plan.h"
#include "scenarios/result_files_command.h"

namespace gradhaul {
namespace {

// Whether all hold of what a measurement knows; what limits it does not.
bool meets_expectations(const Scenario& scenario, const Measurement& measurement) {
  std::vector<Expectation> expectations = expectations_of(scenario);
  std::erase_if(expectations, [](const Expectation& expected) {
    return expected.quantity == ExpectedQuantity::kLimitedBy;
  });
  Prediction rows;
  rows.rows = measurement.rows;
  const auto unmet = unmet_expectations(expectations, rows);
  for (const std::string& sentence : unmet) complain(sentence);
  return unmet.empty();
}

void complete_notes(const MeasurePlan& plan, Measurement& measurement) {
  std::vector<std::string> notes = plan.scenario.notes;
  notes.insert(notes.end(), plan.notes.begin(), plan.notes.end());
  measurement.notes.insert(measurement.notes.begin(), notes.begin(), notes.end());
  const auto limited_by = [](const ExpectedValue& expected) {
    return expected_quantity(expected.name) == ExpectedQuantity::kLimitedBy;
  };
  if (std::any_of(plan.scenario.expectations.begin(), plan.scenario.expectations.end(),
                  limited_by)) {
    measurement.notes.emplace_back(
        "what limits a measured run is not known; the scenario's expectation of it is left out");
  }
}

std::int64_t wrong_values(const Measurement& measurement) {
  std::int64_t wrong = 0;
  for (const ResultRow& row : measurement.rows) wrong += row.measured->wrong;
  return wrong;
}

int judge(const MeasurePlan& plan, const Measurement& measurement) {
  if (!measurement.failures.empty()) {
    complain(fmt::format("the run failed: {}", measurement.failures.front()));
    for (std::size_t i = 1; i < measurement.failures.size(); ++i) {
      complain(fmt::format("  {}", measurement.failures[i]));
    }
    return kRunFailed;
  }
  if (measurement.interrupted) {
    complain("interrupted; the sizes that were finished are kept");
    return kInterrupted;
  }
  if (const std::int64_t wrong = wrong_values(measurement); wrong > 0) {
    complain(fmt::format("{} values are wrong", wrong));
    return kRunFailed;
  }
  return meets_expectations(plan.scenario, measurement) ? kDone : kOutsideExpectation;
}

// The other ranks are silent but for what concerns them alone: rank 0 speaks for all.
int judge_elsewhere(const MeasureOptions& options, const Measurement& measurement) {
  if (!measurement.failures.empty()) {
    if (!options.started_by_measure) {
      complain(fmt::format("the run failed: {}", measurement.failures.front()));
    }
    return kRunFailed;
  }
  if (measurement.interrupted) return kInterrupted;
  return wrong_values(measurement) > 0 ? kRunFailed : kDone;
}

int measure_scenario(const MeasureOptions& options, const CommandContext& context) {
  const MeasurePlan plan = plan_of(options, context);
  const bool speaks = plan.rank == 0;
  if (speaks) check_result_files({options.json, options.csv});
  Measurement measurement = measure_with_backend(options, plan);
  if (!speaks) return judge_elsewhere(options, measurement);
  complete_notes(plan, measurement);
  const RunDescription run = describe_run(plan.scenario.cluster, plan.scenario.communication,
                                          plan.scenario.name, context.version);
  const bool printed = print(report(measurement, run));
  if (!printed) complain("standard output could not be written");
  const bool written = write_result_files(ResultFiles{options.json, options.csv}, measurement,
                                          plan.scenario, context);
  if (!printed || !written) return kRunFailed;
  return judge(plan, measurement);
}

}  // namespace

int run_measure(const MeasureOptions& options, const CommandContext& context) {
  try {
    return measure_scenario(options, context);
  } catch (const ConfigError& error) {
    print_problems(error);
    return kBadInput;
  } catch (const FileError& error) {
    complain(error.what());
    return kBadInput;
  } catch (const RanksDisagree& error) {
    if (!options.started_by_measure) complain(error.what());
    return kBadInput;
  } catch (const RendezvousFailed& error) {
    if (!options.started_by_measure) complain(fmt::format("the run failed: {}", error.what()));
    return kRunFailed;
  }
}

}  // namespace gradhaul
