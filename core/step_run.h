#pragma once

// Runs the operations of a training step with times that each collective was predicted to take by
// itself: an operation begins when all that it waits for is complete, and those under way at once
// share what they use.
//
//  - Compute is slower while collectives run on its GPU: each channel's kernel occupies one
//    multiprocessor, so that of M there are M - k left.
//  - Collectives that are under way together share links: each knows which share of the time it
//    uses each resource when alone, and where these add up to more than the whole, all slow down
//    evenly until it fits, others taking what that leaves (max-min fairness). Directions of a link
//    are not told apart.
//
// Exact where one thing at a time is under way. The packet model of the whole step
// (sim/task_prediction.h) needs none of this.

#include <functional>
#include <utility>
#include <vector>

#include "core/step_timeline.h"

namespace gradhaul {

// One message of a plan (StepPlan::traffics), in all groups of its stage at once.
struct TrafficTime {
  Duration alone;
  int channels = 0;
  // Resource, by any numbering that all share, and the share of the time it is busy (0..1).
  std::vector<std::pair<int, double>> uses;
};

struct StepRunSettings {
  int multiprocessors = 0;  // 0: kernels take nothing from compute
  // Asked now and then; false: give up.
  std::function<bool(double done)> keep_going;
};

// By start; one interval for each stage that takes part in an operation. Empty: given up.
std::vector<StepInterval> run_step(const StepPlan& plan, const std::vector<TrafficTime>& times,
                                   const StepRunSettings& settings);

// Stages whose GPUs take part in an operation.
std::vector<int> stages_of(const StepPlan& plan, const StepOperation& operation);

}  // namespace gradhaul
