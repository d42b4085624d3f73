#include "analysis/sweep_step.h"

#include <fmt/format.h>

#include "analysis/step_json.h"

namespace gradhaul {

using Json = nlohmann::ordered_json;

SweepOutcome outcome_of_step(const Prediction& prediction, const TrainingStep& step,
                             const StepOutcome& outcome, const std::string& version) {
  SweepOutcome swept = outcome_of(prediction, version);
  Json json = step_json(step, outcome);
  json.erase("timeline");
  swept.result["training_step"] = std::move(json);
  swept.csv = {step_csv_line(*step_of(swept.result))};
  return swept;
}

std::optional<SweepStep> step_of(const Json& result) {
  const auto found = result.find("training_step");
  if (found == result.end()) return std::nullopt;
  SweepStep step;
  step.time_us = found->at("time_us").get<double>();
  step.item = found->at("item").get<std::string>();
  if (step.time_us > 0) {
    const double seconds = step.time_us / 1e6;
    step.items_per_s = found->at("items").get<double>() / seconds;
    const double peak = found->at("peak_flops").get<double>() * seconds;
    if (peak > 0) step.share_of_peak = found->at("flops").get<double>() / peak;
  }
  for (const Json& stage : found->at("stages")) {
    const double exposed = stage.at("exposed_us").get<double>();
    if (exposed < step.exposed_us) continue;
    step.exposed_us = exposed;
    step.communicating_us = stage.at("communicating_us").get<double>();
  }
  return step;
}

std::string step_csv_head() {
  return "step_time_us,item,items_per_s,share_of_peak,exposed_us,communicating_us";
}

std::string step_csv_line(const SweepStep& step) {
  const std::string peak =
      step.share_of_peak ? fmt::format("{}", *step.share_of_peak) : std::string();
  return fmt::format("{},{},{},{},{},{}", step.time_us, step.item, step.items_per_s, peak,
                     step.exposed_us, step.communicating_us);
}

}  // namespace gradhaul
