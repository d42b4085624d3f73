#include "analysis/step_json.h"

#include "analysis/quantity_text.h"
#include "analysis/step_report.h"
#include "analysis/uncertainty_text.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const StepMemory& memory) {
  return {{"parameters", memory.parameters.count},   {"gradients", memory.gradients.count},
          {"optimizer", memory.optimizer.count},     {"gathered", memory.gathered.count},
          {"activations", memory.activations.count}, {"total", memory.total().count}};
}

Json stage_json(const StageTimes& times, const StepMemory& memory) {
  Json by_lane = Json::object();
  for (int lane = 1; lane < kStepLanes; ++lane) {
    by_lane[std::string(name_of(static_cast<StepLane>(lane)))] =
        microseconds(times.exposed_by_lane[static_cast<std::size_t>(lane)]);
  }
  return {{"stage", times.stage},
          {"rank", times.rank},
          {"compute_us", microseconds(times.compute)},
          {"slowed_us", microseconds(times.slowed)},
          {"exposed_us", microseconds(times.exposed)},
          {"idle_us", microseconds(times.idle)},
          {"communicating_us", microseconds(times.communicating)},
          {"hidden_us", microseconds(times.hidden())},
          {"exposed_by_group_us", by_lane},
          {"memory_bytes", memory_json(memory)}};
}

Json buckets_json(const StepOutcome& outcome) {
  Json list = Json::array();
  for (const BucketTimes& times : bucket_times(outcome)) {
    const StepPlan& plan = outcome.plan;
    const StepOperation& operation = plan.operations[static_cast<std::size_t>(times.operation)];
    const StepTraffic& traffic = plan.traffics[static_cast<std::size_t>(operation.traffic)];
    list.push_back({{"stage", times.stage},
                    {"bucket", times.bucket},
                    {"collective", name_of(traffic.collective)},
                    {"size_bytes", traffic.size.count},
                    {"ready_us", microseconds(times.ready)},
                    {"start_us", microseconds(times.start)},
                    {"end_us", microseconds(times.end)}});
  }
  return list;
}

Json timeline_json(const StepOutcome& outcome) {
  Json list = Json::array();
  for (const StepInterval& interval : outcome.intervals) {
    const StepOperation& operation =
        outcome.plan.operations[static_cast<std::size_t>(interval.operation)];
    const bool compute = operation.lane == StepLane::kCompute;
    list.push_back({{"rank", interval.rank},
                    {"lane", compute ? "compute" : "communication"},
                    {"group", name_of(operation.lane)},
                    {"name", operation_name(outcome.plan, operation)},
                    {"micro_step", operation.micro_step},
                    {"start_us", microseconds(interval.start)},
                    {"end_us", microseconds(interval.end)}});
  }
  return list;
}

}  // namespace

Json step_json(const TrainingStep& step, const StepOutcome& outcome) {
  Json json = {{"model", step.model.name},
               {"parameters", outcome.parameters},
               {"time_us", microseconds(outcome.time)},
               {"items", outcome.items},
               {"item", step.model.kind == ModelKind::kTransformer ? "token" : "sample"},
               {"flops", outcome.flops},
               {"peak_flops", outcome.peak_flops},
               {"layout",
                {{"tensor", outcome.plan.layout.tensor},
                 {"data", outcome.plan.layout.data},
                 {"pipeline", outcome.plan.layout.pipeline}}},
               {"sharding", name_of(step.sharding)},
               {"gpu_memory_bytes", outcome.gpu_memory.count}};
  json["stages"] = Json::array();
  for (std::size_t i = 0; i < outcome.stages.size(); ++i) {
    json["stages"].push_back(stage_json(outcome.stages[i], outcome.memory[i]));
  }
  if (outcome.uncertainty) json["uncertainty"] = uncertainty_json(*outcome.uncertainty);
  json["buckets"] = buckets_json(outcome);
  json["timeline"] = timeline_json(outcome);
  return json;
}

std::string step_result_text(const Prediction& prediction, const TrainingStep& step,
                             const StepOutcome& outcome, const ScenarioRecord& scenario,
                             const std::string& version) {
  Json result = result_json(prediction, scenario, version);
  // What a run cost stands last.
  Json cost = result["cost"];
  result.erase("cost");
  result["training_step"] = step_json(step, outcome);
  result["cost"] = std::move(cost);
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gradhaul
