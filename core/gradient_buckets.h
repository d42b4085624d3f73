#pragma once

// Gradients are not reduced tensor by tensor but in buckets, filled in the order in which they
// become ready. As PyTorch's DistributedDataParallel does it (after its first iteration, in which
// it learns that order): a tensor goes into the open bucket as a whole, and a bucket that has
// reached its size is closed; the first one's size is 1 MiB, so that the first collective starts
// early, that of all others 25 MiB [torch/csrc/distributed/c10d/reducer.cpp,
// compute_bucket_assignment_by_size]. So a bucket may be much larger than its size, where tensors
// are.

#include <cstdint>
#include <vector>

#include "core/training_step.h"

namespace gradhaul {

// So many elements of a tensor.
struct BucketPart {
  int tensor = 0;
  std::int64_t elements = 0;
};

struct GradientBucket {
  std::vector<BucketPart> parts;  // in the order in which they become ready
  std::int64_t elements = 0;
};

// `tensors[i]` elements of tensor i, which become ready in this order.
std::vector<GradientBucket> fill_buckets(const std::vector<std::int64_t>& tensors, Bytes element,
                                         const BucketSettings& settings);

}  // namespace gradhaul
