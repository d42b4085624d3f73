#pragma once

// A training step in a result file: its key "training_step", beside the rows of its messages.
//
//   stages     where the time of each pipeline stage goes, and what its GPUs hold
//   buckets    when each was ready, begun and complete
//   timeline   what the first rank of each stage did, by start: {rank, lane, group, name, start_us,
//              end_us}; lane is "compute" or "communication", which says with which ranks

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/result_json.h"
#include "core/step_timeline.h"

namespace gradhaul {

nlohmann::ordered_json step_json(const TrainingStep& step, const StepOutcome& outcome);

// The text of the whole result file.
std::string step_result_text(const Prediction& prediction, const TrainingStep& step,
                             const StepOutcome& outcome, const ScenarioRecord& scenario,
                             const std::string& version);

}  // namespace gradhaul
