#include "scenarios/step_bucket.h"

#include <fmt/format.h>

#include <array>

#include "scenarios/workload_reader.h"

namespace gradhaul {

std::vector<std::string> bucket_settings(const Scenario& scenario,
                                         const std::vector<std::string>& settings) {
  const TrainingStep& step = *scenario.training_step;
  if (step.tensor * step.pipeline > 1) {
    Problems problems;
    problems.add({scenario.file, 0, 0},
                 "explain takes one collective of all ranks, and in this training step groups of "
                 "them communicate: predict tells how they get on, and with --set "
                 "workload.size=1GiB one collective of all ranks can be explained");
    throw ConfigError(problems.sorted());
  }
  std::vector<std::string> bucket;
  for (const std::string& setting : settings) {
    if (!setting.starts_with("workload.training_step")) bucket.push_back(setting);
  }
  constexpr std::array<std::string_view, 3> kTypes{"fp32", "fp16", "bf16"};
  const Workload& workload = scenario.workload;
  bucket.push_back(fmt::format("workload.size={}", format_bytes(workload.sizes.front())));
  bucket.push_back(fmt::format("workload.collective={}", collective_name(workload.collective)));
  bucket.push_back(
      fmt::format("workload.datatype={}", kTypes[static_cast<std::size_t>(workload.datatype)]));
  return bucket;
}

bool is_of_step(const nlohmann::ordered_json& effective) {
  const auto workload = effective.find("workload");
  if (workload == effective.end() || !workload->is_object()) return false;
  const auto step = workload->find("training_step");
  return step != workload->end() && step->is_object() && !step->empty();
}

}  // namespace gradhaul
