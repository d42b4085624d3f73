#include "sim/step_prediction.h"

#include <algorithm>

#include "sim/link_digest.h"
#include "sim/run_cost.h"
#include "sim/sized_cluster.h"
#include "sim/step_messages.h"
#include "sim/step_tasks.h"

namespace gradhaul {
namespace {

void describe(const PredictionRequest& request, const TrainingStep& step, StepOutcome& outcome) {
  const GpuModel& gpu = request.cluster.node.gpu;
  const int ranks = request.cluster.ranks();
  outcome.plan = plan_step(step, gpu, ranks);
  outcome.parameters = parameter_count(step.model);
  outcome.items = step.micro_batch * step.accumulation * outcome.plan.layout.data;
  if (step.model.kind == ModelKind::kTransformer) outcome.items *= step.sequence_length;
  outcome.flops = model_flops(step, ranks);
  if (gpu.tensor_flops != kUnlimitedFlops) {
    outcome.peak_flops = static_cast<double>(gpu.tensor_flops) * ranks;
  }
  outcome.gpu_memory = gpu.memory;
  for (int stage = 0; stage < step.pipeline; ++stage) {
    outcome.memory.push_back(step_memory(
        step, outcome.plan.layout, outcome.plan.stages[static_cast<std::size_t>(stage)], stage));
  }
}

// Where the time of every stage goes, of intervals that are there.
void account(StepOutcome& outcome) {
  for (int stage = 0; stage < outcome.plan.layout.pipeline; ++stage) {
    const Rank rank = outcome.plan.layout.rank_at(0, 0, stage);
    std::vector<StepInterval> own;
    std::copy_if(outcome.intervals.begin(), outcome.intervals.end(), std::back_inserter(own),
                 [rank](const StepInterval& interval) { return interval.rank == rank; });
    outcome.stages.push_back(stage_times(outcome.plan, stage, rank, own, outcome.time));
  }
}

// Of messages that are alike, as those of several stages, the slowest.
void merge_rows(std::vector<ResultRow>& rows) {
  std::vector<ResultRow> merged;
  for (ResultRow& row : rows) {
    const auto alike = std::find_if(merged.begin(), merged.end(), [&row](const ResultRow& other) {
      return other.collective == row.collective && other.size == row.size &&
             other.ranks == row.ranks && other.datatype == row.datatype;
    });
    if (alike == merged.end()) {
      merged.push_back(std::move(row));
    } else if (alike->time < row.time) {
      *alike = std::move(row);
    }
  }
  rows = std::move(merged);
}

}  // namespace

StepPrediction predict_step(const PredictionRequest& request, const TrainingStep& step) {
  const RunCostMeter meter;
  PredictionRequest whole = request;
  whole.cluster = with_sized_topology(request.cluster);
  StepPrediction result;
  result.prediction.seed = request.seed;
  describe(whole, step, result.outcome);
  if (request.fidelity == Fidelity::kPacket) {
    run_step_tasks(whole, step, result);
  } else {
    run_step_messages(whole, step, result);
  }
  if (!result.prediction.interrupted) {
    account(result.outcome);
    RunDigest digest;
    digest.add(result.prediction.digest);
    for (const StepInterval& interval : result.outcome.intervals) {
      digest.add(static_cast<std::uint64_t>(interval.end.ps));
    }
    result.prediction.digest = digest.value();
  }
  merge_rows(result.prediction.rows);
  meter.measure(result.prediction.cost);
  return result;
}

}  // namespace gradhaul
