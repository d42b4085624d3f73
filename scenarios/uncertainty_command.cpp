#include "scenarios/uncertainty_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/uncertainty.h"
#include "scenarios/changed_run.h"
#include "scenarios/estimate_ends.h"
#include "sim/predict.h"

namespace gradhaul {
namespace {

constexpr std::string_view kReduceRate = "cluster.node.gpus.model.reduce_bandwidth";

using Times = std::vector<Duration>;  // of the rows; of a training step its own behind them

Times times_of(const Prediction& prediction) {
  Times times;
  for (const ResultRow& row : prediction.rows) times.push_back(row.time);
  return times;
}

Times times_of(const StepPrediction& prediction) {
  Times times = times_of(prediction.prediction);
  times.push_back(prediction.outcome.time);
  return times;
}

// What a scenario comes to; empty where it was interrupted.
Times run_times(const PredictionRequest& request, const Scenario& scenario) {
  if (scenario.training_step) {
    const StepPrediction step = predict_step(request, *scenario.training_step);
    return step.prediction.interrupted ? Times{} : times_of(step);
  }
  const Prediction prediction = predict(request);
  return prediction.interrupted ? Times{} : times_of(prediction);
}

class Varying {
 public:
  Varying(const Scenario& scenario, const PredictOptions& options, const CommandContext& context,
          const std::atomic<bool>& interrupted, Prediction& prediction, Times times)
      : scenario_(scenario),
        options_(options),
        context_(context),
        interrupted_(interrupted),
        prediction_(prediction),
        times_(std::move(times)),
        effects_(times_.size()) {}

  // Whether all estimates were tried.
  bool vary() {
    const std::vector<EstimateEnds> all = estimate_ends(scenario_, prediction_);
    runs_ = static_cast<int>(2 * all.size());
    warn_of_runs(prediction_.cost.wall_s, runs_, "");
    ProgressBar progress(options_.progress);
    std::size_t tried = 0;
    while (tried < all.size() && vary_one(all[tried], progress)) ++tried;
    left_ = static_cast<int>(all.size() - tried);
    return left_ == 0;
  }

  // Of the time at that place.
  Uncertainty of(std::size_t place) const {
    Uncertainty uncertainty = combined(times_[place], effects_[place]);
    uncertainty.left = left_;
    return uncertainty;
  }

 private:
  // False where it was interrupted.
  bool vary_one(const EstimateEnds& estimate, ProgressSink& progress) {
    const Times low = run_with(estimate, estimate.low, progress);
    const Times high = low.empty() ? low : run_with(estimate, estimate.high, progress);
    if (high.empty()) return false;
    for (std::size_t row = 0; row < times_.size(); ++row) {
      effects_[row].push_back({estimate.key, estimate.low, estimate.value, estimate.high,
                               estimate.assumed, low[row], high[row]});
    }
    return true;
  }

  // Empty where it was interrupted; as it was where the value is refused.
  Times run_with(const EstimateEnds& estimate, const std::string& value, ProgressSink& all) {
    RunOfSeveral progress(all, done_++, runs_);
    if (value == estimate.value) return times_;
    try {
      const Scenario changed = read_scenario(
          {options_.scenario, joined(options_.settings, settings(estimate.key, value)),
           context_.library});
      PredictionRequest request = request_of(changed);
      request.skip_recurrences = !options_.no_skip;
      request.interrupted = &interrupted_;
      request.progress = &progress;
      Times times = run_times(request, changed);
      return times.size() < times_.size() ? Times{} : times;
    } catch (const ConfigError& error) {
      prediction_.notes.push_back(fmt::format("{}={} could not be tried: {}", estimate.key, value,
                                              error.problems().front().message));
      return times_;
    }
  }

  // A plan that a rate was estimated for stays the plan, whatever the rate turns out to be.
  std::vector<std::string> settings(const std::string& key, const std::string& value) const {
    std::vector<std::string> settings{key + "=" + value};
    if (prediction_.rows.empty()) return settings;
    const int channels = prediction_.rows.front().channels;
    const bool same = std::all_of(prediction_.rows.begin(), prediction_.rows.end(),
                                  [&](const ResultRow& row) { return row.channels == channels; });
    if (key == kReduceRate && same && !scenario_.communication.channels && scenario_.jobs.empty()) {
      settings.push_back(fmt::format("communication.channels={}", channels));
    }
    return settings;
  }

  const Scenario& scenario_;
  const PredictOptions& options_;
  const CommandContext& context_;
  const std::atomic<bool>& interrupted_;
  Prediction& prediction_;
  Times times_;
  std::vector<std::vector<EstimateEffect>> effects_;  // of each row
  int runs_ = 0;
  int done_ = 0;
  int left_ = 0;  // estimates that were not tried
};

}  // namespace

bool add_uncertainty(const Scenario& scenario, const PredictOptions& options,
                     const CommandContext& context, const std::atomic<bool>& interrupted,
                     Prediction& prediction) {
  Varying varying(scenario, options, context, interrupted, prediction, times_of(prediction));
  const bool all = varying.vary();
  for (std::size_t row = 0; row < prediction.rows.size(); ++row) {
    prediction.rows[row].uncertainty = varying.of(row);
  }
  return all;
}

bool add_uncertainty(const Scenario& scenario, const PredictOptions& options,
                     const CommandContext& context, const std::atomic<bool>& interrupted,
                     StepPrediction& step) {
  Prediction& prediction = step.prediction;
  Varying varying(scenario, options, context, interrupted, prediction, times_of(step));
  const bool all = varying.vary();
  for (std::size_t row = 0; row < prediction.rows.size(); ++row) {
    prediction.rows[row].uncertainty = varying.of(row);
  }
  step.outcome.uncertainty = varying.of(prediction.rows.size());
  return all;
}

}  // namespace gradhaul
