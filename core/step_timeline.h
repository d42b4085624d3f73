#pragma once

// What a training step came to: who computed and communicated when, and how much of the
// communication compute did not hide.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/step_plan.h"
#include "core/training_memory.h"
#include "core/uncertainty.h"

namespace gradhaul {

// One operation on one rank.
struct StepInterval {
  int operation = 0;  // of the plan
  Rank rank = 0;
  Duration start;
  Duration end;
};

// Where the time of one rank goes, which stands for all of its stage. compute + slowed + exposed +
// idle is the step's time.
struct StageTimes {
  int stage = 0;
  Rank rank = 0;
  Duration compute;  // at full speed
  Duration slowed;   // longer than that, collectives' kernels having taken multiprocessors
  Duration exposed;  // waiting while something of its own is being communicated
  Duration idle;     // waiting for other stages (pipeline bubbles)
  // Of `exposed`, by lane: an instant counts for the first of tensor, pipeline, all, data that is
  // under way then.
  std::vector<Duration> exposed_by_lane;
  Duration communicating;  // something is under way, whether compute is or not
  Duration hidden() const { return communicating - exposed; }
};

// `intervals`: of one rank of `stage`, in any order; zero-length ones count nothing.
StageTimes stage_times(const StepPlan& plan, int stage, Rank rank,
                       const std::vector<StepInterval>& intervals, Duration step);

// What a training step adds to a prediction.
struct StepOutcome {
  StepPlan plan;
  Duration time;
  std::int64_t parameters = 0;
  std::int64_t items = 0;  // tokens or samples of a step, all replicas
  double flops = 0;        // model_flops()
  double peak_flops = 0;   // of all GPUs together; 0: unlimited
  Bytes gpu_memory;        // 0: not known
  std::vector<StageTimes> stages;
  std::vector<StepMemory> memory;          // by stage
  std::vector<StepInterval> intervals;     // of a stage's first rank, by start
  std::optional<Uncertainty> uncertainty;  // of `time`, where it was asked for
};

// A bucket's collective, in the last micro-step, on the first rank of its stage.
struct BucketTimes {
  int stage = 0;
  int bucket = 0;
  int operation = 0;
  Duration ready;  // its gradients, or without overlap whatever else it waits for, are complete
  Duration start;  // the bucket before is complete, too
  Duration end;
};

// By stage and bucket; none where nothing is reduced.
std::vector<BucketTimes> bucket_times(const StepOutcome& outcome);

}  // namespace gradhaul
