#include "analysis/step_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/quantity_text.h"
#include "analysis/report.h"
#include "analysis/table.h"
#include "analysis/uncertainty_text.h"
#include "core/workload_names.h"

namespace gradhaul {
namespace {

// The result file has all of them.
constexpr std::size_t kShownBuckets = 5;
constexpr std::size_t kShownStages = 8;

double share_of(Duration part, Duration whole) {
  return static_cast<double>(part.ps) / static_cast<double>(std::max<std::int64_t>(whole.ps, 1));
}

std::string layout_text(const ParallelLayout& layout) {
  std::string text =
      fmt::format("{} data-parallel replica{}", layout.data, layout.data > 1 ? "s" : "");
  if (layout.tensor > 1) text += fmt::format(" of {} tensor-parallel ranks", layout.tensor);
  if (layout.pipeline > 1) {
    text +=
        fmt::format("{} in {} pipeline stages", layout.tensor > 1 ? "" : " each", layout.pipeline);
  }
  return text;
}

std::string headline(const TrainingStep& step, const StepOutcome& outcome) {
  const bool tokens = step.model.kind == ModelKind::kTransformer;
  std::string text = fmt::format(
      "# Training step of {} ({} parameters) on {} GPUs: {}, sharding {}, gradients {}\n",
      step.model.name, count_text(outcome.parameters), outcome.plan.layout.ranks(),
      layout_text(outcome.plan.layout), name_of(step.sharding), name_of(step.gradient_datatype));
  const double rate = static_cast<double>(outcome.items) / std::max(outcome.time.seconds(), 1e-12);
  text += fmt::format("#   {} a step of {} {}: {} a second", duration_text(outcome.time),
                      count_text(outcome.items), tokens ? "tokens" : "samples",
                      count_text(static_cast<std::int64_t>(rate)));
  if (outcome.peak_flops > 0) {
    const double reached = outcome.flops / std::max(outcome.time.seconds(), 1e-12);
    text += fmt::format(", {} of the GPUs' peak", percent_text(reached / outcome.peak_flops));
  }
  return text + "\n#\n";
}

std::string time_line(Duration part, Duration whole, const std::string& what) {
  return fmt::format("#   {:>8}  {:>6}  {}\n", duration_text(part),
                     percent_text(share_of(part, whole)), what);
}

std::string exposed_words(const StageTimes& times) {
  std::string text = "exposed communication";
  if (times.communicating.ps == 0) return "exposed communication: there is none";
  text += fmt::format(" ({} of {} hidden behind compute",
                      percent_text(share_of(times.hidden(), times.communicating)),
                      duration_text(times.communicating));
  for (int lane = 1; lane < kStepLanes; ++lane) {
    const Duration waited = times.exposed_by_lane[static_cast<std::size_t>(lane)];
    if (waited.ps == 0 || waited == times.exposed) continue;
    text += fmt::format("; {} {}", name_of(static_cast<StepLane>(lane)), duration_text(waited));
  }
  return text + ")";
}

std::string stage_text(const StageTimes& times, const StepOutcome& outcome) {
  const bool several = outcome.plan.layout.pipeline > 1;
  std::string text = several
                         ? fmt::format("# Stage {}, as rank {} sees it:\n", times.stage, times.rank)
                         : "# Where the time goes, on every rank:\n";
  text += time_line(times.compute, outcome.time, "compute");
  if (times.slowed.ps > 0) {
    text += time_line(times.slowed, outcome.time,
                      "compute made slower by collectives' kernels on the same multiprocessors");
  }
  text += time_line(times.exposed, outcome.time, exposed_words(times));
  if (several || times.idle.ps > 0) {
    text += time_line(times.idle, outcome.time, "waiting for other ranks");
  }
  return text;
}

std::string stages_text(const StepOutcome& outcome) {
  std::string text;
  const std::size_t count = outcome.stages.size();
  for (std::size_t i = 0; i < count; ++i) {
    // The first ones and the last.
    if (count > kShownStages && i + 1 < count && i + 1 >= kShownStages) {
      if (i + 1 == kShownStages) text += fmt::format("# … {} stages …\n", count - kShownStages);
      continue;
    }
    text += stage_text(outcome.stages[i], outcome);
  }
  return text;
}

// Microseconds in milliseconds, so that buckets can be told from each other.
std::string milliseconds_text(Duration time) {
  return fmt::format("{:.3f}", microseconds(time) / 1e3);
}

std::string bucket_line(const StepOutcome& outcome, const BucketTimes& times, bool several) {
  const StepPlan& plan = outcome.plan;
  const StepOperation& operation = plan.operations[static_cast<std::size_t>(times.operation)];
  const StepTraffic& traffic = plan.traffics[static_cast<std::size_t>(operation.traffic)];
  const std::string stage = several ? fmt::format("stage {} ", times.stage) : "";
  return fmt::format("#   {:>18}  {:>8}  {:>10}  {:>10}  {:>10}\n",
                     fmt::format("{}bucket {}", stage, times.bucket), bytes_text(traffic.size),
                     milliseconds_text(times.ready), milliseconds_text(times.start),
                     milliseconds_text(times.end));
}

std::string buckets_text(const StepOutcome& outcome) {
  std::vector<BucketTimes> buckets = bucket_times(outcome);
  if (buckets.empty()) return "";
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const BucketTimes& a, const BucketTimes& b) { return a.end < b.end; });
  const std::size_t shown = std::min(buckets.size(), kShownBuckets);
  std::string text = fmt::format("# Buckets of gradients, the last {} of {} to be reduced:\n",
                                 shown, buckets.size());
  text +=
      fmt::format("#   {:>16}  {:>8}  {:>9}  {:>9}  {:>9}\n", "", "size", "ready", "start", "end");
  const bool several = outcome.plan.layout.pipeline > 1;
  for (std::size_t i = buckets.size() - shown; i < buckets.size(); ++i) {
    text += bucket_line(outcome, buckets[i], several);
  }
  return text;
}

// Of the stage that holds most.
const StepMemory& largest_memory(const StepOutcome& outcome) {
  return *std::max_element(
      outcome.memory.begin(), outcome.memory.end(),
      [](const StepMemory& a, const StepMemory& b) { return a.total() < b.total(); });
}

std::string memory_text(const StepOutcome& outcome) {
  const StepMemory& memory = largest_memory(outcome);
  const std::array<std::pair<std::string_view, Bytes>, 5> parts{
      {{"parameters", memory.parameters},
       {"gradients", memory.gradients},
       {"optimizer", memory.optimizer},
       {"gathered parameters", memory.gathered},
       {"activations (estimate)", memory.activations}}};
  std::string text;
  for (const auto& [name, bytes] : parts) {
    if (bytes.count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, bytes_text(bytes));
  }
  const std::string capacity =
      outcome.gpu_memory.count > 0 ? fmt::format(" of {}", bytes_text(outcome.gpu_memory)) : "";
  return fmt::format("# Memory of a GPU: {}{} ({})\n#\n", bytes_text(memory.total()), capacity,
                     text);
}

}  // namespace

std::string_view name_of(Sharding sharding) {
  constexpr std::array<std::string_view, 3> kNames{"none", "zero1", "zero3"};
  return kNames[static_cast<std::size_t>(sharding)];
}

std::string_view name_of(StepLane lane) {
  constexpr std::array<std::string_view, kStepLanes> kNames{
      "compute", "tensor", "pipeline forward", "pipeline backward", "data", "all_to_all"};
  return kNames[static_cast<std::size_t>(lane)];
}

std::string step_report(const Prediction& prediction, const TrainingStep& step,
                        const StepOutcome& outcome, const RunDescription& run) {
  std::string text = table_head(prediction, run);
  for (const ResultRow& row : prediction.rows) text += table_row(row);
  text += table_foot(prediction);
  if (prediction.interrupted) {
    const std::string& why = prediction.failure;
    text += why.empty() ? "# Interrupted: the" : "# Failed: " + why + "\n#\n# The";
    return text + " messages above were finished, the step was not.\n" + closing_text(prediction);
  }
  text +=
      headline(step, outcome) + stages_text(outcome) + buckets_text(outcome) + memory_text(outcome);
  text += resources_text(prediction);
  if (outcome.uncertainty)
    text += step_uncertainty_text(outcome.time, *outcome.uncertainty) + "#\n";
  return text + closing_text(prediction);
}

}  // namespace gradhaul
