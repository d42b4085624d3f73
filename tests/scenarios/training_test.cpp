// `workload.training_step`: what it says comes to, and what a user is told.

#include <gmock/gmock.h>

#include "scenarios/training_reader.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kStep =
    "scenario: step\n"
    "workload: {training_step: {model: llama-2-7b}}\n"
    "cluster: {nodes: 4, node: hgx-h100, network: ndr-rails}\n";

TEST(TrainingScenario, HasTheDefaultsOfDistributedDataParallel) {
  const Scenario scenario = good(kStep);
  ASSERT_TRUE(scenario.training_step);
  const TrainingStep& step = *scenario.training_step;
  EXPECT_EQ(step.buckets.size.count, 25 * 1024 * 1024);
  EXPECT_EQ(step.buckets.first.count, 1024 * 1024);
  EXPECT_FALSE(step.buckets.split_tensors);
  EXPECT_EQ(step.sharding, Sharding::kNone);
  EXPECT_EQ(step.gradient_datatype, DataType::kBf16);
  EXPECT_TRUE(step.overlap);
  EXPECT_EQ(step.layout(scenario.cluster.ranks()).data, 32);
  // The largest bucket is the last one: the embedding, and the norm that is ready before it.
  EXPECT_THAT(scenario.workload.sizes, ElementsAre(Bytes{2 * (32000 * 4096 + 4096)}));
}

// 16 bytes for each of 6.7 billion parameters are 107.8 GB; the H100 has 80 GiB.
TEST(TrainingScenario, TellsWhatDoesNotFit) {
  const std::string cut = "workload.training_step.buckets.split_tensors=true";
  const std::string zero3 = "workload.training_step.sharding=zero3";
  EXPECT_THAT(good(kStep, {cut}).notes,
              ElementsAre(HasSubstr("this does not fit: even without activations a GPU holds 107.8 "
                                    "GB, and h100-sxm has 85.9 GB")));
  EXPECT_THAT(good(kStep, {cut, zero3}).notes, IsEmpty());
  EXPECT_THAT(good(kStep, {cut, zero3, "workload.training_step.micro_batch=8"}).notes,
              ElementsAre(HasSubstr("this hardly fits")));
}

// The embedding: 32000 rows of 4096 values of two bytes, 250 MiB.
TEST(TrainingScenario, TellsWhereTensorsAreLargerThanBuckets) {
  const std::string size = "workload.training_step.buckets.size=";
  EXPECT_THAT(good(kStep, {size + "25MiB"}).notes,
              Contains(HasSubstr("of buckets.size 25MiB some are larger, and the largest tensor "
                                 "has 250MiB")));
  EXPECT_THAT(good(kStep, {size + "250MiB"}).notes, Not(Contains(HasSubstr("buckets.size"))));
}

TEST(TrainingScenario, IsReplacedByASizeAndReplacesOne) {
  const Scenario bare = good(kStep, {"workload.size=1GiB"});
  EXPECT_FALSE(bare.training_step);
  EXPECT_THAT(bare.workload.sizes, ElementsAre(Bytes{1 << 30}));
  const Scenario step =
      read_file_with("7b-32gpu", {"workload.training_step.model=llama-2-13b"}).scenario;
  ASSERT_TRUE(step.training_step);
  EXPECT_EQ(step.training_step->model.transformer.layers, 40);
  EXPECT_EQ(step.training_step->model.name, "llama-2-13b");
  const Scenario changed = good(kStep, {"workload.training_step.model.layers=16"});
  EXPECT_EQ(changed.training_step->model.transformer.layers, 16);
}

TEST(TrainingScenario, OfARecommenderCountsSamples) {
  const Scenario scenario = good(kStep, {"workload.training_step.model=dlrm"});
  EXPECT_EQ(scenario.training_step->micro_batch, 2048);
  EXPECT_EQ(scenario.training_step->gradient_datatype, DataType::kFp32);
  EXPECT_EQ(scenario.training_step->model.recommender.embedding_rows.size(), 26U);
}

}  // namespace
}  // namespace gradhaul
