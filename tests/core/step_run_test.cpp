// Times of a step against closed forms; collectives take what the test says.

#include "core/step_run.h"

#include <gmock/gmock.h>

#include "tests/core/sample_training.h"

namespace gradhaul {
namespace {

struct Outcome {
  StepPlan plan;
  std::vector<StepInterval> intervals;
  Duration end;
  std::vector<StageTimes> stages;
};

template <typename TimeOf>
Outcome run(const TrainingStep& step, int ranks, TimeOf time_of, int multiprocessors = 0,
            int channels = 0) {
  Outcome outcome{plan_step(step, plain_gpu(), ranks), {}, {}, {}};
  std::vector<TrafficTime> times;
  for (const StepTraffic& traffic : outcome.plan.traffics) {
    times.push_back({time_of(traffic), channels, {}});
  }
  outcome.intervals = run_step(outcome.plan, times, {multiprocessors, {}});
  for (const StepInterval& interval : outcome.intervals) {
    outcome.end = std::max(outcome.end, interval.end);
  }
  for (int stage = 0; stage < step.pipeline; ++stage) {
    const Rank rank = outcome.plan.layout.rank_at(0, 0, stage);
    std::vector<StepInterval> own;
    for (const StepInterval& interval : outcome.intervals) {
      if (interval.rank == rank) own.push_back(interval);
    }
    outcome.stages.push_back(stage_times(outcome.plan, stage, rank, own, outcome.end));
    const StageTimes& times_of = outcome.stages.back();
    EXPECT_EQ((times_of.compute + times_of.slowed + times_of.exposed + times_of.idle).ps,
              outcome.end.ps);
  }
  return outcome;
}

Duration compute_of(const StepPlan& plan, int stage = 0) {
  return work_of(plan, stage, StepPurpose::kForward) + work_of(plan, stage, StepPurpose::kBackward);
}

Duration per_byte(const StepTraffic& traffic, std::int64_t ps) { return {traffic.size.count * ps}; }

TEST(StepRun, OneBucketWithoutOverlapIsComputeAndAllReduce) {
  TrainingStep step = small_step();
  step.buckets = {Bytes{1 << 30}, Bytes{1 << 30}, false};
  step.overlap = false;
  const Outcome outcome = run(step, 4, [](const StepTraffic& t) { return per_byte(t, 7); });
  const Duration reduce{7 * 2 * parameter_count(step.model)};
  EXPECT_EQ(outcome.end.ps, (compute_of(outcome.plan) + reduce).ps);
  EXPECT_EQ(outcome.stages[0].exposed.ps, reduce.ps);
  EXPECT_EQ(outcome.stages[0].hidden().ps, 0);
}

TEST(StepRun, WithInfiniteBandwidthNothingIsExposed) {
  for (const Sharding sharding : {Sharding::kNone, Sharding::kZero1, Sharding::kZero3}) {
    TrainingStep step = small_step();
    step.sharding = sharding;
    step.accumulation = 2;
    step.buckets = {Bytes{5'000}, Bytes{500}, true};
    const Outcome outcome = run(step, 4, [](const StepTraffic&) { return Duration{}; });
    EXPECT_EQ(outcome.end.ps, compute_of(outcome.plan).ps);
    EXPECT_EQ(outcome.stages[0].exposed.ps, 0);
  }
}

// No more can hide than there is compute once the first bucket is ready.
TEST(StepRun, NeverExposesLessThanCannotBeHidden) {
  for (const std::int64_t ps : {1, 100, 3'000, 100'000}) {
    for (const std::int64_t size : {1'000, 20'000, 1'000'000}) {
      TrainingStep step = small_step();
      step.buckets = {Bytes{size}, Bytes{1'000}, false};
      const Outcome outcome = run(step, 4, [&](const StepTraffic& t) { return per_byte(t, ps); });
      const std::int64_t total = ps * 2 * parameter_count(step.model);
      const Duration backward = work_of(outcome.plan, 0, StepPurpose::kBackward);
      EXPECT_EQ(outcome.stages[0].communicating.ps, total);
      EXPECT_GE(outcome.stages[0].exposed.ps, std::max<std::int64_t>(total - backward.ps, 0));
      // The last bucket is ready when there is nothing left to hide it behind.
      EXPECT_GE(outcome.stages[0].exposed.ps,
                ps * 2 * outcome.plan.stages[0].buckets.back().elements);
      step.overlap = false;
      const Outcome bare = run(step, 4, [&](const StepTraffic& t) { return per_byte(t, ps); });
      EXPECT_EQ(bare.end.ps, (compute_of(bare.plan) + Duration{total}).ps);
      EXPECT_LE(outcome.end.ps, bare.end.ps);
    }
  }
}

// Buckets that take longer than the gradients behind them need: the first begins when it is ready,
// and each follows the one before.
TEST(StepRun, BucketsFollowEachOther) {
  TrainingStep step = small_step();
  step.buckets = {Bytes{1}, Bytes{1}, false};
  const Outcome outcome =
      run(step, 4, [](const StepTraffic&) { return Duration{1'000'000'000'000}; });
  const auto count = static_cast<std::int64_t>(outcome.plan.stages[0].buckets.size());
  const GpuModel gpu = plain_gpu();
  const Duration head = StepCompute(step, gpu).backward(outcome.plan.stages[0].tensors.back());
  EXPECT_EQ(outcome.end.ps, (work_of(outcome.plan, 0, StepPurpose::kForward) + head).ps +
                                count * 1'000'000'000'000);
}

// Two stages of which the second takes longer and never waits once it has begun: one forward pass
// of the first, all of the second's, one backward pass of the first.
TEST(StepRun, APipelineTakesOneRampUpAndOneDown) {
  TrainingStep step = small_step();
  step.pipeline = 2;
  step.accumulation = 5;
  const Duration hop{100'000};
  for (const Duration wire : {Duration{}, hop}) {
    const Outcome outcome = run(step, 2, [&](const StepTraffic&) { return wire; });
    const Duration forward{work_of(outcome.plan, 0, StepPurpose::kForward).ps / 5};
    const Duration backward{work_of(outcome.plan, 0, StepPurpose::kBackward).ps / 5};
    const Duration second = compute_of(outcome.plan, 1);
    ASSERT_GT(second.ps, 5 * (forward + backward + 2 * hop).ps);
    EXPECT_EQ(outcome.end.ps, (forward + wire + second + wire + backward).ps);
    EXPECT_EQ(outcome.stages[1].idle.ps, (forward + backward).ps);
  }
}

// Collectives with k of M multiprocessors: compute beside them takes M / (M - k) as long.
TEST(StepRun, KernelsTakeMultiprocessorsFromCompute) {
  TrainingStep step = small_step();
  step.buckets = {Bytes{1}, Bytes{1}, false};
  const auto endless = [](const StepTraffic&) { return Duration{1'000'000'000'000}; };
  const Outcome outcome = run(step, 4, endless, 128, 32);
  // All of the backward pass but that of the output layer, during which nothing is ready yet.
  const GpuModel gpu = plain_gpu();
  const Duration head = StepCompute(step, gpu).backward(outcome.plan.stages[0].tensors.back());
  const Duration beside = work_of(outcome.plan, 0, StepPurpose::kBackward) - head;
  EXPECT_NEAR(static_cast<double>(outcome.stages[0].slowed.ps),
              static_cast<double>(beside.ps) * 32 / 96, 100);
}

// One collective in each of three stages.
class SharedResources : public testing::Test {
 protected:
  SharedResources() {
    plan_.layout = {1, 2, 3};
    plan_.stages.resize(3);
    for (int stage = 0; stage < 3; ++stage) {
      StepTraffic traffic;
      traffic.stage = stage;
      plan_.traffics.push_back(traffic);
      StepOperation operation;
      operation.stage = stage;
      operation.lane = StepLane::kData;
      operation.purpose = StepPurpose::kReduceBucket;
      operation.traffic = stage;
      plan_.operations.push_back(operation);
    }
  }
  // Seconds until each is complete that takes one second alone.
  std::vector<double> ends(const std::vector<std::vector<std::pair<int, double>>>& uses) const {
    std::vector<TrafficTime> times;
    for (const auto& used : uses) times.push_back({Duration{1'000'000'000'000}, 1, used});
    std::vector<double> ends(3);
    for (const StepInterval& interval : run_step(plan_, times, {})) {
      ends[static_cast<std::size_t>(interval.operation)] =
          static_cast<double>(interval.end.ps) * 1e-12;
    }
    return ends;
  }
  static auto near(std::vector<double> expected) {
    return testing::Pointwise(testing::DoubleNear(1e-5), std::move(expected));
  }

  StepPlan plan_;
};

TEST_F(SharedResources, AreSharedEvenly) {
  EXPECT_THAT(ends({{{0, 1.0}}, {{0, 1.0}}, {{1, 1.0}}}), near({2, 2, 1}));
  EXPECT_THAT(ends({{{0, 0.4}}, {{0, 0.4}}, {{0, 0.1}}}), near({1, 1, 1}));
  // All slow down to 1 / 1.1 until those that use half of it are through, together.
  EXPECT_THAT(ends({{{0, 0.5}}, {{0, 0.5}}, {{0, 0.1}}}), near({1.1, 1.1, 1.1}));
}

// The first and the third share resource 1, and so come to half their speed; the second takes what
// that leaves of resource 0: 0.6 of it, which is 0.75 of what it could use.
TEST_F(SharedResources, LeaveToOthersWhatTheyCannotUse) {
  EXPECT_THAT(ends({{{0, 0.8}, {1, 1.0}}, {{0, 0.8}}, {{1, 1.0}}}), near({2, 1 / 0.75, 2}));
}

}  // namespace
}  // namespace gradhaul
