#include "core/gradient_buckets.h"

#include <gmock/gmock.h>

#include <numeric>

#include "tests/core/sample_training.h"

namespace gradhaul {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> elements_of(const std::vector<GradientBucket>& buckets) {
  std::vector<std::int64_t> elements;
  for (const GradientBucket& bucket : buckets) elements.push_back(bucket.elements);
  return elements;
}

// What PyTorch expects of its own rule (test/distributed/test_c10d_common.py,
// ComputeBucketAssignmentTest): 32-bit floats, a limit of 400 bytes; limits of 40, then 80 bytes.
TEST(GradientBuckets, AreThoseOfDistributedDataParallel) {
  BucketSettings settings{Bytes{400}, Bytes{400}, false};
  EXPECT_THAT(elements_of(fill_buckets({100, 200, 100, 50}, Bytes{4}, settings)),
              ElementsAre(100, 200, 100, 50));
  // Of [50 floats, 25 doubles] x 3, kept apart by type: floats in {0, 2}, {4}.
  EXPECT_THAT(elements_of(fill_buckets({50, 50, 50}, Bytes{4}, settings)), ElementsAre(100, 50));
  settings = {Bytes{80}, Bytes{40}, false};
  EXPECT_THAT(elements_of(fill_buckets({10, 10, 10, 10}, Bytes{4}, settings)),
              ElementsAre(10, 20, 10));
}

TEST(GradientBuckets, CutTensorsAreOfTheirSize) {
  const BucketSettings settings{Bytes{40}, Bytes{12}, true};
  const auto buckets = fill_buckets({7, 0, 20}, Bytes{2}, settings);
  EXPECT_THAT(elements_of(buckets), ElementsAre(6, 20, 1));
  ASSERT_EQ(buckets[1].parts.size(), 2U);
  EXPECT_EQ(buckets[1].parts[0].tensor, 0);
  EXPECT_EQ(buckets[1].parts[0].elements, 1);
  EXPECT_EQ(buckets[1].parts[1].tensor, 2);
  EXPECT_EQ(buckets[1].parts[1].elements, 19);
}

TEST(GradientBuckets, HoldEveryParameterOnce) {
  for (const TrainedModel& model : {llama_7b(), llama_70b()}) {
    std::vector<std::int64_t> tensors;
    for (const ParameterTensor& tensor : parameter_tensors(model)) {
      tensors.push_back(tensor.parameters);
    }
    for (const bool split : {false, true}) {
      for (const std::int64_t mib : {1, 25, 250}) {
        const BucketSettings settings{Bytes{mib << 20}, Bytes{1 << 20}, split};
        std::vector<std::int64_t> held(tensors.size());
        int last = 0;
        for (const GradientBucket& bucket : fill_buckets(tensors, Bytes{2}, settings)) {
          std::int64_t sum = 0;
          for (const BucketPart& part : bucket.parts) {
            EXPECT_GE(part.tensor, last);
            last = part.tensor;
            held[static_cast<std::size_t>(part.tensor)] += part.elements;
            sum += part.elements;
          }
          EXPECT_EQ(sum, bucket.elements);
        }
        EXPECT_EQ(held, tensors);
      }
    }
  }
}

}  // namespace
}  // namespace gradhaul
