#include "core/step_compute.h"

#include <gtest/gtest.h>

#include "tests/core/sample_training.h"

namespace gradhaul {
namespace {

// PaLM, appendix B: 6 N + 12 L H Q T operations a token, N without the embedding.
TEST(StepCompute, TakesTheOperationsOfModelFlopsUtilisation) {
  TrainingStep step;
  step.model = llama_7b();
  step.micro_batch = 3;
  step.accumulation = 2;
  const TransformerShape& shape = step.model.transformer;
  const double tokens = 3 * 4096 * 2 * 8.0;
  const double matrices = static_cast<double>(parameter_count(step.model)) -
                          static_cast<double>((shape.vocabulary + 65) * shape.hidden);
  const double each = 6 * matrices + 12.0 * 32 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(model_flops(step, 8), each * tokens);
  // And so 6 P T within what attention and the embedding make of it.
  EXPECT_NEAR(model_flops(step, 8) / (6 * 6'738'415'616.0 * tokens), 1, 0.15);
}

TEST(StepCompute, BackwardIsTwiceForward) {
  TrainingStep step;
  step.model = llama_7b();
  step.efficiency = 0.5;
  step.tensor = 4;
  GpuModel gpu = plain_gpu();
  const StepCompute compute(step, gpu);
  const ParameterTensor matrix{"", 0, TensorRole::kFeedForwardOut, 4096 * 11008, 4096 * 11008};
  // 2 x 4096 tokens x 4096 x 11008 operations by four ranks at half of 1e12 a second.
  EXPECT_EQ(compute.forward(matrix).ps, 2LL * 4096 * 4096 * 11008 / 4 * 2);
  EXPECT_EQ(compute.backward(matrix).ps, 2 * compute.forward(matrix).ps);
  gpu.tensor_flops = kUnlimitedFlops;
  EXPECT_EQ(compute.forward(matrix).ps, 0);
}

TEST(StepCompute, OfWhatMovesMemoryCountsBytes) {
  TrainingStep step;
  step.model = llama_7b();
  GpuModel gpu = plain_gpu();
  gpu.memory_bandwidth = {8'000'000'000'000};  // 1 byte a picosecond
  const StepCompute compute(step, gpu);
  EXPECT_EQ(compute.optimizer(1000).ps, 1000 * (2 + 24 + 2));
  TrainingStep recommender;
  recommender.model.kind = ModelKind::kRecommender;
  recommender.model.recommender = {{10, 10}, 64, 13, {64}, {1}};
  recommender.micro_batch = 100;
  const StepCompute tables(recommender, gpu);
  recommender.gradient_datatype = DataType::kFp32;
  EXPECT_EQ(tables.optimizer(1000).ps, 1000 * 3 * 4);
  EXPECT_EQ(tables.table_lookup().ps, 2 * 100 * 2 * 64 * 4);
  EXPECT_EQ(tables.table_update().ps, 3 * 100 * 2 * 64 * 4);
}

}  // namespace
}  // namespace gradhaul
