#include "core/step_plan.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/core/sample_training.h"

namespace gradhaul {
namespace {

using testing::Contains;

// How often each purpose, and how many bytes.
struct Sum {
  int count = 0;
  std::int64_t bytes = 0;
};

std::map<StepPurpose, Sum> sums(const StepPlan& plan) {
  std::map<StepPurpose, Sum> sums;
  for (const StepOperation& operation : plan.operations) {
    Sum& sum = sums[operation.purpose];
    ++sum.count;
    if (operation.traffic < 0) continue;
    sum.bytes += plan.traffics[static_cast<std::size_t>(operation.traffic)].size.count;
  }
  return sums;
}

// Megatron-LM, section 3: in each layer two all-reduces forward and two backward, of b s h elements
// each; here also at the embedding and at the output layer.
TEST(StepPlan, TensorParallelismSumsActivationsFourTimesALayer) {
  TrainingStep step = small_step();
  step.tensor = 2;
  step.micro_batch = 3;
  step.accumulation = 2;
  const auto all = sums(plan_step(step, plain_gpu(), 2));
  const std::int64_t message = 3 * 32 * 64 * 2;
  const Sum forward = all.at(StepPurpose::kSumActivations);
  EXPECT_EQ(forward.count, 2 * (2 * 4 + 1));
  EXPECT_EQ(forward.bytes, 2 * (2 * 4 + 1) * message);
  const Sum backward = all.at(StepPurpose::kSumActivationGradients);
  EXPECT_EQ(backward.count, 2 * (2 * 4 + 1));
  EXPECT_EQ(backward.bytes, 2 * (2 * 4 + 1) * message);
  EXPECT_EQ(all.count(StepPurpose::kReduceBucket), 0U);
  step.recompute = true;
  EXPECT_EQ(sums(plan_step(step, plain_gpu(), 2)).at(StepPurpose::kSumActivations).count,
            2 * (4 * 4 + 1));
}

// DDP reduces every gradient once a step; ZeRO-1 the same and fetches every parameter once; ZeRO-3
// fetches twice and reduces once for each micro-step [ZeRO, section 7].
TEST(StepPlan, DataParallelismMovesWhatZeroSays) {
  TrainingStep step = small_step();
  step.accumulation = 3;
  step.buckets = {Bytes{10'000}, Bytes{1'000}, false};
  const std::int64_t bytes = 2 * parameter_count(step.model);
  ASSERT_EQ(parameter_count(step.model) % 4, 0);
  auto all = sums(plan_step(step, plain_gpu(), 4));
  EXPECT_EQ(all.at(StepPurpose::kReduceBucket).bytes, bytes);
  EXPECT_EQ(all.count(StepPurpose::kGatherUnit), 0U);
  step.sharding = Sharding::kZero1;
  all = sums(plan_step(step, plain_gpu(), 4));
  EXPECT_EQ(all.at(StepPurpose::kReduceBucket).bytes, bytes);
  EXPECT_EQ(all.at(StepPurpose::kGatherUnit).bytes, bytes);
  step.sharding = Sharding::kZero3;
  for (const bool overlap : {true, false}) {
    step.overlap = overlap;
    all = sums(plan_step(step, plain_gpu(), 4));
    EXPECT_EQ(all.at(StepPurpose::kReduceBucket).bytes, 3 * bytes);
    EXPECT_EQ(all.at(StepPurpose::kGatherUnit).bytes, 2 * 3 * bytes);
  }
}

TEST(StepPlan, APipelineSendsEachMicroBatchOnAndBack) {
  TrainingStep step = small_step();
  step.pipeline = 4;
  step.accumulation = 6;
  step.micro_batch = 5;
  const StepPlan plan = plan_step(step, plain_gpu(), 4);
  const auto all = sums(plan);
  const std::int64_t message = 5 * 32 * 64 * 2;
  EXPECT_EQ(all.at(StepPurpose::kSendActivations).count, 3 * 6);
  EXPECT_EQ(all.at(StepPurpose::kSendActivations).bytes, 3 * 6 * message);
  EXPECT_EQ(all.at(StepPurpose::kSendActivationGradients).bytes, 3 * 6 * message);
  // The parameters of all stages together are those of the model.
  std::int64_t parameters = 0;
  for (const StageModel& stage : plan.stages) {
    for (const ParameterTensor& tensor : stage.tensors) parameters += tensor.parameters;
  }
  EXPECT_EQ(parameters, parameter_count(step.model));
  // 1F1B: the first stage is three forward passes ahead, the last one none.
  std::vector<int> ahead(4);
  for (const StepOperation& operation : plan.operations) {
    auto& passes = ahead[static_cast<std::size_t>(operation.stage)];
    if (operation.purpose == StepPurpose::kBackward && operation.micro_step == 0 && passes < 10) {
      passes = 10 + passes;
    }
    if (operation.purpose == StepPurpose::kForward && passes < 10) {
      passes = operation.micro_step;
    }
  }
  EXPECT_THAT(ahead, testing::ElementsAre(13, 12, 11, 10));
}

// What has to be complete before an operation begins, however far back.
std::vector<int> all_before(const StepPlan& plan, int index) {
  std::vector<bool> before(plan.operations.size());
  std::vector<int> found;
  std::vector<int> open{index};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    std::vector<int> next = plan.operations[static_cast<std::size_t>(at)].after;
    for (int i = at - 1; i >= 0; --i) {
      const StepOperation& earlier = plan.operations[static_cast<std::size_t>(i)];
      const StepOperation& own = plan.operations[static_cast<std::size_t>(at)];
      if (earlier.stage != own.stage || earlier.lane != own.lane) continue;
      next.push_back(i);
      break;
    }
    for (const int earlier : next) {
      EXPECT_LT(earlier, at);
      if (before[static_cast<std::size_t>(earlier)]) continue;
      before[static_cast<std::size_t>(earlier)] = true;
      found.push_back(earlier);
      open.push_back(earlier);
    }
  }
  return found;
}

// Every bucket waits for the gradients in it and for nothing behind them; the optimizer for all.
TEST(StepPlan, BucketsWaitForTheirGradients) {
  TrainingStep step = small_step();
  step.buckets = {Bytes{1}, Bytes{1}, false};  // one for each tensor
  const StepPlan plan = plan_step(step, plain_gpu(), 4);
  int optimizer = -1;
  std::vector<int> reduces;
  for (int i = 0; i < static_cast<int>(plan.operations.size()); ++i) {
    const StepOperation& operation = plan.operations[static_cast<std::size_t>(i)];
    if (operation.purpose == StepPurpose::kReduceBucket) reduces.push_back(i);
    if (operation.purpose == StepPurpose::kOptimizer) optimizer = i;
  }
  const auto tensors = static_cast<int>(plan.stages[0].tensors.size());
  ASSERT_EQ(static_cast<int>(reduces.size()), tensors);
  for (int b = 0; b < tensors; ++b) {
    const auto before = all_before(plan, reduces[static_cast<std::size_t>(b)]);
    Duration backward;
    for (const int i : before) {
      const StepOperation& earlier = plan.operations[static_cast<std::size_t>(i)];
      if (earlier.purpose == StepPurpose::kBackward) backward += earlier.work;
    }
    Duration expected;
    const GpuModel gpu = plain_gpu();
    const StepCompute compute(step, gpu);
    for (int t = tensors - 1; t >= tensors - 1 - b; --t) {
      expected += compute.backward(plan.stages[0].tensors[static_cast<std::size_t>(t)]);
    }
    EXPECT_EQ(backward.ps, expected.ps) << "bucket " << b;
  }
  // An infinitely fast memory: the optimizer takes no time and is not listed.
  EXPECT_EQ(optimizer, -1);
  GpuModel gpu = plain_gpu();
  gpu.memory_bandwidth = {1'000'000'000'000};
  const StepPlan timed = plan_step(step, gpu, 4);
  ASSERT_EQ(timed.operations.back().purpose, StepPurpose::kOptimizer);
  const auto before = all_before(timed, static_cast<int>(timed.operations.size()) - 1);
  for (const int reduce : reduces) EXPECT_THAT(before, Contains(reduce));
}

TEST(StepPlan, ARecommenderExchangesVectorsBothWays) {
  TrainingStep step;
  step.model.kind = ModelKind::kRecommender;
  step.model.recommender = {{1000, 3000, 10}, 64, 13, {128, 64}, {32, 1}};
  step.gradient_datatype = DataType::kFp32;
  step.micro_batch = 50;
  const StepPlan plan = plan_step(step, plain_gpu(), 4);
  const auto all = sums(plan);
  // b samples x tables x dimension x 4 bytes.
  EXPECT_EQ(all.at(StepPurpose::kExchangeVectors).bytes, 50 * 3 * 64 * 4);
  EXPECT_EQ(all.at(StepPurpose::kExchangeVectorGradients).bytes, 50 * 3 * 64 * 4);
  EXPECT_EQ(all.at(StepPurpose::kReduceBucket).bytes,
            4 * (14 * 128 + 129 * 64 + (64 + 6 + 1) * 32 + 33));
}

}  // namespace
}  // namespace gradhaul
