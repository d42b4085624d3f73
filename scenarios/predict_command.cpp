#include "scenarios/predict_command.h"

#include <fmt/format.h>

#include <exception>

#include "analysis/busbw_bound.h"
#include "analysis/expectation.h"
#include "analysis/report.h"
#include "analysis/run_description.h"
#include "scenarios/exit_status.h"
#include "scenarios/interruption.h"
#include "scenarios/result_files_command.h"
#include "scenarios/scenario.h"
#include "scenarios/step_command.h"
#include "sim/predict.h"

namespace gradhaul {
namespace {

// Notes of the reader first, in the order in which things happened.
void complete_notes(const Scenario& scenario, Prediction& prediction) {
  prediction.notes.insert(prediction.notes.begin(), scenario.notes.begin(), scenario.notes.end());
  // What a job can have depends on where it is.
  if (!scenario.jobs.empty()) return;
  const double bound = busbw_bound(scenario.cluster, scenario.workload.collective);
  for (const ResultRow& row : prediction.rows) {
    enforce_busbw_bound(row, bound, prediction.notes);
  }
}

int judge(const Scenario& scenario, const Prediction& prediction) {
  if (prediction.interrupted && !scenario.jobs.empty()) {
    complain(prediction.rows.empty()
                 ? "interrupted before the jobs were complete"
                 : "interrupted; the jobs are complete and kept, not all of what they cost each "
                   "other");
    return kInterrupted;
  }
  if (prediction.interrupted) {
    complain(fmt::format("interrupted; {} of {} sizes are finished and kept",
                         prediction.rows.size(), scenario.workload.sizes.size()));
    return kInterrupted;
  }
  const auto unmet = unmet_expectations(expectations_of(scenario), prediction);
  for (const std::string& sentence : unmet) complain(sentence);
  return unmet.empty() ? kDone : kOutsideExpectation;
}

int predict_scenario(const PredictOptions& options, const CommandContext& context) {
  const Scenario scenario = read_scenario({options.scenario, options.settings, context.library});
  check_result_files({options.json, options.csv});
  PredictionRequest request = request_of(scenario);
  request.skip_recurrences = !options.no_skip;
  request.interrupted = &catch_interruption();
  if (scenario.training_step) return predict_training_step(scenario, request, options, context);
  Prediction prediction;
  {
    ProgressBar progress(options.progress);
    request.progress = &progress;
    prediction = predict(request);
  }
  complete_notes(scenario, prediction);
  const RunDescription run =
      describe_run(request.cluster, request.communication, scenario.name, context.version);
  const bool printed = print(report(prediction, run));
  if (!printed) complain("standard output could not be written");
  const bool written =
      write_result_files(ResultFiles{options.json, options.csv}, prediction, scenario, context);
  if (!printed || !written) return kRunFailed;
  return judge(scenario, prediction);
}

}  // namespace

int run_predict(const PredictOptions& options, const CommandContext& context) {
  try {
    return predict_scenario(options, context);
  } catch (const ConfigError& error) {
    print_problems(error);
    return kBadInput;
  } catch (const FileError& error) {
    complain(error.what());
    return kBadInput;
  } catch (const SimulationError& error) {
    complain(fmt::format("the run failed: {}", error.what()));
    return kRunFailed;
  }
}

}  // namespace gradhaul
