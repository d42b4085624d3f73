#include "scenarios/sweep_point_command.h"

#include <fmt/format.h>

#include "analysis/sweep_step.h"
#include "scenarios/predict_command.h"
#include "scenarios/result_files_command.h"
#include "sim/predict.h"
#include "sim/step_prediction.h"

namespace gradhaul {

namespace {

SweepOutcome step_at(const SweepPlan& plan, const Scenario& scenario,
                     const PredictionRequest& request) {
  const StepPrediction step = predict_step(request, *scenario.training_step);
  SweepOutcome outcome =
      outcome_of_step(step.prediction, *scenario.training_step, step.outcome, plan.version);
  outcome.key = key_of(plan, scenario);
  return outcome;
}

}  // namespace

SweepOutcome compute_point(const SweepPlan& plan, std::size_t point) {
  SweepOutcome failed;
  try {
    const Scenario scenario = scenario_at(plan, point);
    PredictionRequest request = request_of(scenario);
    request.skip_recurrences = !plan.options.no_skip;
    if (scenario.training_step) return step_at(plan, scenario, request);
    Prediction prediction = predict(request);
    if (!prediction.failure.empty()) throw SimulationError(prediction.failure);
    complete_notes(scenario, prediction);
    SweepOutcome outcome = outcome_of(prediction, plan.version);
    outcome.unmet = unmet_expectations(expectations_of(scenario), prediction);
    outcome.key = key_of(plan, scenario);
    return outcome;
  } catch (const ConfigError& error) {
    failed.error = point_problem(error);
  } catch (const SimulationError& error) {
    failed.error = fmt::format("the run failed: {}", error.what());
  }
  return failed;
}

}  // namespace gradhaul
