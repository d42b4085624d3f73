// Parameters against what is published of the models.

#include "core/trained_model.h"

#include <gtest/gtest.h>

#include "tests/core/sample_training.h"

namespace gradhaul {
namespace {

// Hugging Face, model cards of meta-llama/Llama-2-*: "Model size", and their safetensors' indices.
TEST(TrainedModel, CountsThePublishedParametersOfLlama2) {
  EXPECT_EQ(parameter_count(llama_7b()), 6'738'415'616);
  EXPECT_EQ(parameter_count(llama_13b()), 13'015'864'320);
  EXPECT_EQ(parameter_count(llama_70b()), 68'976'648'192);
}

TEST(TrainedModel, ATiedOutputLayerIsMultipliedButHasNoParameters) {
  TrainedModel model = llama_7b();
  model.transformer.tied_embeddings = true;
  EXPECT_EQ(parameter_count(model), 6'738'415'616 - 32000 * 4096);
  const ParameterTensor head = parameter_tensors(model).back();
  EXPECT_EQ(head.role, TensorRole::kHead);
  EXPECT_EQ(head.parameters, 0);
  EXPECT_EQ(head.multiplied, 32000 * 4096);
}

TEST(TrainedModel, AFeedForwardWithoutAGateHasTwoMatrices) {
  TrainedModel model = llama_7b();
  model.transformer.gated_ffn = false;
  EXPECT_EQ(parameter_count(model), 6'738'415'616 - 32LL * 4096 * 11008);
}

// 26 vectors of the tables and one of the bottom MLP: 128 + 27 * 26 / 2 = 479 inputs, as DLRM's
// log has them for MLPerf.
TEST(TrainedModel, ARecommenderIsItsTablesAndTwoMlps) {
  TrainedModel model;
  model.kind = ModelKind::kRecommender;
  model.recommender = {
      std::vector<std::int64_t>(26, 1000), 128, 13, {512, 256, 128}, {1024, 1024, 512, 256, 1}};
  EXPECT_EQ(interaction_width(model.recommender), 479);
  const std::int64_t bottom = 14 * 512 + 513 * 256 + 257 * 128;
  const std::int64_t top = 480 * 1024 + 1025 * 1024 + 1025 * 512 + 513 * 256 + 257;
  EXPECT_EQ(parameter_count(model), 26'000 * 128 + bottom + top);
}

}  // namespace
}  // namespace gradhaul
