#include "scenarios/step_command.h"

#include "analysis/run_description.h"
#include "analysis/step_json.h"
#include "analysis/step_report.h"
#include "scenarios/exit_status.h"
#include "scenarios/result_files_command.h"
#include "scenarios/uncertainty_command.h"
#include "sim/step_prediction.h"

namespace gradhaul {

int predict_training_step(const Scenario& scenario, PredictionRequest request,
                          const PredictOptions& options, const Picture& picture,
                          const CommandContext& context) {
  StepPrediction result;
  {
    ProgressBar progress(options.progress);
    request.progress = &progress;
    result = predict_step(request, *scenario.training_step);
  }
  bool varied = true;
  if (options.uncertainty && !result.prediction.interrupted) {
    varied = add_uncertainty(scenario, options, context, *request.interrupted, result);
  }
  auto& notes = result.prediction.notes;
  const std::vector<std::string> of_scenario = scenario.all_notes();
  notes.insert(notes.begin(), of_scenario.begin(), of_scenario.end());
  const RunDescription run =
      describe_run(request.cluster, request.communication, scenario.name, context.version);
  const bool printed =
      print(step_report(result.prediction, *scenario.training_step, result.outcome, run));
  if (!printed) complain("standard output could not be written");
  const auto json = [&] {
    return step_result_text(result.prediction, *scenario.training_step, result.outcome,
                            record_of_scenario(scenario), context.version);
  };
  const bool written =
      write_texts({options.json, options.csv}, json, [&] { return result_csv(result.prediction); });
  const bool drawn = result.prediction.interrupted || picture.draw(json);
  if (!printed || !written || !drawn) return kRunFailed;
  if (!varied) {
    complain("interrupted; what was found of the estimates until then is kept");
    return kInterrupted;
  }
  if (!result.prediction.interrupted) return kDone;
  if (!result.prediction.failure.empty()) {
    complain("the run failed: " + result.prediction.failure);
    return kRunFailed;
  }
  complain("interrupted; the step was not finished");
  return kInterrupted;
}

}  // namespace gradhaul
