#include "core/step_timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/assert.h"

namespace gradhaul {
namespace {

struct Edge {
  std::int64_t at = 0;
  int lane = 0;
  int change = 0;
};

// Lanes in which waiting is counted first.
constexpr std::array kOrder{StepLane::kTensor, StepLane::kPipelineForward,
                            StepLane::kPipelineBackward, StepLane::kAll, StepLane::kData};

}  // namespace

StageTimes stage_times(const StepPlan& plan, int stage, Rank rank,
                       const std::vector<StepInterval>& intervals, Duration step) {
  StageTimes times;
  times.stage = stage;
  times.rank = rank;
  times.exposed_by_lane.resize(kStepLanes);
  std::vector<Edge> edges;
  for (const StepInterval& interval : intervals) {
    const StepOperation& operation = plan.operations[static_cast<std::size_t>(interval.operation)];
    if (operation.lane == StepLane::kCompute) times.compute += operation.work;
    const int lane = static_cast<int>(operation.lane);
    edges.push_back({interval.start.ps, lane, 1});
    edges.push_back({interval.end.ps, lane, -1});
  }
  edges.push_back({step.ps, 0, 0});
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  std::array<int, kStepLanes> active{};
  std::int64_t now = 0;
  Duration computing;
  for (const Edge& edge : edges) {
    const Duration passed{edge.at - now};
    now = edge.at;
    const bool computes = active[0] > 0;
    const auto waited = std::find_if(kOrder.begin(), kOrder.end(), [&](StepLane lane) {
      return active[static_cast<std::size_t>(lane)] > 0;
    });
    if (computes) computing += passed;
    if (waited != kOrder.end()) {
      times.communicating += passed;
      if (!computes) {
        times.exposed += passed;
        times.exposed_by_lane[static_cast<std::size_t>(*waited)] += passed;
      }
    } else if (!computes) {
      times.idle += passed;
    }
    active[static_cast<std::size_t>(edge.lane)] += edge.change;
  }
  times.slowed = computing - times.compute;
  GRADHAUL_ASSERT(now == step.ps, "no operation ends behind its step");
  return times;
}

std::vector<BucketTimes> bucket_times(const StepOutcome& outcome) {
  const StepPlan& plan = outcome.plan;
  std::map<std::pair<int, Rank>, const StepInterval*> when;
  for (const StepInterval& interval : outcome.intervals) {
    when[{interval.operation, interval.rank}] = &interval;
  }
  std::map<std::pair<int, int>, BucketTimes> buckets;  // of several micro-steps the last
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    const StepOperation& operation = plan.operations[i];
    if (operation.purpose != StepPurpose::kReduceBucket) continue;
    const Rank rank = plan.layout.rank_at(0, 0, operation.stage);
    const auto found = when.find({static_cast<int>(i), rank});
    if (found == when.end()) continue;
    BucketTimes times{operation.stage, operation.item, static_cast<int>(i), {}, {}, {}};
    for (const int earlier : operation.after) {
      const auto before = when.find({earlier, rank});
      if (before != when.end()) times.ready = std::max(times.ready, before->second->end);
    }
    times.start = found->second->start;
    times.end = found->second->end;
    buckets[{operation.stage, operation.item}] = times;
  }
  std::vector<BucketTimes> list;
  for (const auto& [key, times] : buckets) list.push_back(times);
  return list;
}

}  // namespace gradhaul
