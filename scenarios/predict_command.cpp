#include "scenarios/predict_command.h"

#include <fmt/format.h>

#include <exception>

#include "analysis/busbw_bound.h"
#include "analysis/expectation.h"
#include "analysis/report.h"
#include "analysis/run_description.h"
#include "analysis/write_file_whole.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/interruption.h"
#include "scenarios/ladder_command.h"
#include "scenarios/result_files_command.h"
#include "scenarios/scenario.h"
#include "scenarios/step_command.h"
#include "scenarios/uncertainty_command.h"
#include "sim/predict.h"

namespace gradhaul {
namespace {

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
  if (!prediction.failure.empty()) {
    complain(fmt::format("the run failed: {}", prediction.failure));
    if (scenario.workload.sizes.size() > 1) {
      complain(fmt::format("{} of {} sizes are finished and kept", prediction.rows.size(),
                           scenario.workload.sizes.size()));
    }
    return kRunFailed;
  }
  const auto unmet = unmet_expectations(expectations_of(scenario), prediction);
  for (const std::string& sentence : unmet) complain(sentence);
  return unmet.empty() ? kDone : kOutsideExpectation;
}

// Several collectives in one world.
bool is_of_several(const Scenario& scenario) {
  return scenario.training_step || scenario.goal || !scenario.jobs.empty() ||
         !scenario.background.empty();
}

bool records(const PredictOptions& options) {
  return !options.trace.file.empty() || !options.capture.folder.empty();
}

// Complains where it has not.
bool has_what_is_asked(const Scenario& scenario, const PredictOptions& options) {
  if (options.ladder) require_ladder(scenario);
  if (is_of_several(scenario) && records(options)) {
    complain(
        "--trace and --pcap are not available for training steps, programs, jobs and background "
        "traffic in this version");
    return false;
  }
  return true;
}

int predict_scenario(const PredictOptions& options, const CommandContext& context) {
  const Scenario scenario = read_scenario({options.scenario, options.settings, context.library});
  check_result_files({options.json, options.csv, options.trace.file});
  PredictionRequest request = request_of(scenario);
  request.skip_recurrences = !options.no_skip;
  if (options.by_events) request.stepping = Stepping::kEvents;
  if (!has_what_is_asked(scenario, options)) return kBadInput;
  const Picture picture(options.picture, result_picture_kinds(), context);
  if (scenario.training_step) {
    request.interrupted = &catch_interruption();
    return predict_training_step(scenario, request, options, picture, context);
  }
  TraceRecording trace(options.trace, scenario, context);
  trace.join(request);
  CaptureRecording capture(options.capture, scenario);
  capture.join(request);
  request.interrupted = &catch_interruption();
  Prediction prediction;
  {
    ProgressBar progress(options.progress);
    request.progress = &progress;
    try {
      prediction = predict(request);
    } catch (const FileError& error) {
      // Of a trace or a capture, which are written as the run goes.
      throw SimulationError(error.what());
    }
  }
  complete_notes(scenario, prediction);
  if (options.ladder) {
    request.progress = nullptr;
    const Ladder ladder = predicted_ladder(scenario, request, prediction);
    return tell_ladder(ladder, options.json, options.csv, context, &picture)
               ? judge(scenario, prediction)
               : kRunFailed;
  }
  bool varied = true;
  if (options.uncertainty && !prediction.rows.empty() && !prediction.interrupted) {
    varied = add_uncertainty(scenario, options, context, *request.interrupted, prediction);
  }
  const RunDescription run =
      describe_run(request.cluster, request.communication, scenario.name, context.version);
  const bool printed = print(report(prediction, run));
  if (!printed) complain("standard output could not be written");
  const bool written =
      write_result_files(ResultFiles{options.json, options.csv}, prediction, scenario, context);
  const bool drawn = prediction.rows.empty() || picture.draw([&] {
    return result_json_text(prediction, record_of_scenario(scenario), context.version);
  });
  const bool traced = trace.write(prediction);
  const bool captured = capture.write();
  if (!printed || !written || !drawn || !traced || !captured) return kRunFailed;
  if (!varied) {
    complain("interrupted; what was found of the estimates until then is kept");
    return kInterrupted;
  }
  return judge(scenario, prediction);
}

}  // namespace

void complete_notes(const Scenario& scenario, Prediction& prediction) {
  const std::vector<std::string> notes = scenario.all_notes();
  prediction.notes.insert(prediction.notes.begin(), notes.begin(), notes.end());
  // What a job can have depends on where it is.
  if (!scenario.jobs.empty() || scenario.goal) return;
  const double bound = busbw_bound(scenario.cluster, scenario.workload.collective);
  for (const ResultRow& row : prediction.rows) {
    // What NCCL expects of a ring is for NCCL to answer for.
    if (scenario.fidelity == Fidelity::kNcclTuner && row.algorithm == "ring") continue;
    enforce_busbw_bound(row, bound, prediction.notes);
  }
}

int run_predict(const PredictOptions& options, const CommandContext& context) {
  return guarded([&] { return predict_scenario(options, context); });
}

}  // namespace gradhaul
