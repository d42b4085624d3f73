#include "core/training_memory.h"

#include <gtest/gtest.h>

#include "tests/core/sample_training.h"

namespace gradhaul {
namespace {

StepMemory memory_of(TrainingStep step, Sharding sharding, int ranks) {
  step.sharding = sharding;
  return step_memory(step, step.layout(ranks), stage_models(step)[0], 0);
}

std::int64_t model_state(const StepMemory& memory) {
  return (memory.parameters + memory.gradients + memory.optimizer).count;
}

// 2 + 2 + 12 bytes a parameter, divided as ZeRO's figure 1 has it.
TEST(TrainingMemory, IsThatOfZero) {
  TrainingStep step;
  step.model = llama_7b();
  const std::int64_t parameters = parameter_count(step.model);
  ASSERT_EQ(parameters % 64, 0);
  EXPECT_EQ(model_state(memory_of(step, Sharding::kNone, 64)), 16 * parameters);
  EXPECT_EQ(model_state(memory_of(step, Sharding::kZero1, 64)),
            4 * parameters + 12 * parameters / 64);
  EXPECT_EQ(model_state(memory_of(step, Sharding::kZero3, 64)), 16 * parameters / 64);
  step.gradient_datatype = DataType::kFp32;
  EXPECT_EQ(model_state(memory_of(step, Sharding::kNone, 64)), 18 * parameters);
}

// The figure's numbers: 7.5 billion parameters on 64 GPUs take 120 GB, 31.4 GB and 1.9 GB.
TEST(TrainingMemory, ComesToTheFigureOfZero) {
  TrainingStep step;
  step.model.transformer = {1, 1, 1, 1, 1, 3'749'999'995, true, false};
  ASSERT_EQ(parameter_count(step.model), 7'500'000'000);
  step.sequence_length = 1;
  const auto gigabytes = [&](Sharding sharding) {
    return static_cast<double>(model_state(memory_of(step, sharding, 64))) / 1e9;
  };
  EXPECT_NEAR(gigabytes(Sharding::kNone), 120, 0.05);
  EXPECT_NEAR(gigabytes(Sharding::kZero1), 31.4, 0.05);
  EXPECT_NEAR(gigabytes(Sharding::kZero3), 1.9, 0.05);
}

TEST(TrainingMemory, TensorParallelismDividesAllButNorms) {
  TrainingStep step;
  step.model = llama_7b();
  const std::int64_t norms = (2 * 32 + 1) * 4096;
  const std::int64_t matrices = parameter_count(step.model) - norms;
  step.tensor = 8;
  EXPECT_EQ(model_state(memory_of(step, Sharding::kNone, 8)), 16 * (matrices / 8 + norms));
}

// Korthikanti et al.: a layer keeps s b h (10 + 24 / t) bytes, or 2 s b h and one whole layer.
TEST(TrainingMemory, OfActivationsIsThatOfKorthikanti) {
  TrainingStep step;
  step.model = llama_7b();
  step.micro_batch = 2;
  const std::int64_t vectors = 2 * 4096LL * 4096;
  const std::int64_t logits = 4 * 2 * 4096LL * 32000;
  EXPECT_EQ(memory_of(step, Sharding::kNone, 8).activations.count, 32 * 34 * vectors + logits);
  step.tensor = 4;
  EXPECT_EQ(memory_of(step, Sharding::kNone, 8).activations.count, 32 * 16 * vectors + logits / 4);
  step.tensor = 1;
  step.recompute = true;
  EXPECT_EQ(memory_of(step, Sharding::kNone, 8).activations.count,
            32 * 2 * vectors + 34 * vectors + logits);
}

TEST(TrainingMemory, OfAPipelineCountsWhatIsOnItsWay) {
  TrainingStep step;
  step.model = llama_7b();
  step.pipeline = 4;
  step.accumulation = 8;
  const std::vector<StageModel> stages = stage_models(step);
  const std::int64_t layer = 34 * 4096LL * 4096;
  EXPECT_EQ(step_memory(step, step.layout(4), stages[0], 0).activations.count, 4 * 8 * layer);
  EXPECT_EQ(step_memory(step, step.layout(4), stages[2], 2).activations.count, 2 * 8 * layer);
}

TEST(TrainingMemory, OfARecommenderIsItsShareOfTheTables) {
  TrainingStep step;
  step.model.kind = ModelKind::kRecommender;
  step.model.recommender = {{1000, 3000}, 64, 13, {64}, {1}};
  step.gradient_datatype = DataType::kFp32;
  const std::int64_t dense = 14 * 64 + (64 + 3 + 1);
  const StepMemory memory = memory_of(step, Sharding::kNone, 4);
  EXPECT_EQ(memory.parameters.count, 4 * (dense + 4000 * 64 / 4));
  EXPECT_EQ(memory.gradients.count, 4 * dense);
  EXPECT_EQ(memory.optimizer.count, 0);
}

}  // namespace
}  // namespace gradhaul
