#include "scenarios/step_bucket.h"

#include <fmt/format.h>

#include "core/workload_names.h"

namespace gradhaul {

std::vector<std::string> bucket_settings(const Scenario& scenario,
                                         const std::vector<std::string>& settings) {
  const TrainingStep& step = *scenario.training_step;
  if (step.tensor * step.pipeline > 1) {
    refuse(scenario.file,
           "explain takes one collective of all ranks, and in this training step groups of "
           "them communicate: predict tells how they get on, and with --set "
           "workload.size=1GiB one collective of all ranks can be explained");
  }
  std::vector<std::string> bucket;
  for (const std::string& setting : settings) {
    if (!setting.starts_with("workload.training_step")) bucket.push_back(setting);
  }
  const Workload& workload = scenario.workload;
  bucket.push_back(fmt::format("workload.size={}", format_bytes(workload.sizes.front())));
  bucket.push_back(fmt::format("workload.collective={}", name_of(workload.collective)));
  bucket.push_back(fmt::format("workload.datatype={}", name_of(workload.datatype)));
  return bucket;
}

bool is_of_step(const nlohmann::ordered_json& effective) {
  const auto workload = effective.find("workload");
  if (workload == effective.end() || !workload->is_object()) return false;
  const auto step = workload->find("training_step");
  return step != workload->end() && step->is_object() && !step->empty();
}

}  // namespace gradhaul
