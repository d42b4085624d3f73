// The part of StageBuilder (core/stage_builder.h) that data-parallel ranks do together: gradients
// put into buckets and reduced, and zero3's parameters gathered before they are used.

#include <algorithm>

#include "core/stage_builder.h"

namespace gradhaul {
namespace {

// Units that are gathered, or being gathered, before compute has used the first of them.
constexpr int kUnitsAhead = 2;

}  // namespace

bool StageBuilder::reduces(int micro_step) const {
  if (plan_.layout.data == 1) return false;
  return step_.sharding == Sharding::kZero3 || micro_step + 1 == step_.accumulation;
}

void StageBuilder::take_gradient(int micro_step, int tensor) {
  if (!reduces(micro_step)) return;
  for (const int bucket : buckets_of_tensor_[static_cast<std::size_t>(tensor)]) {
    for (const BucketPart& part : model().buckets[static_cast<std::size_t>(bucket)].parts) {
      if (tensors() - 1 - part.tensor != tensor) continue;
      bucket_left_[static_cast<std::size_t>(bucket)] -= part.elements;
    }
    if (bucket_left_[static_cast<std::size_t>(bucket)] > 0) continue;
    if (step_.overlap || step_.sharding == Sharding::kZero3) {
      reduce_bucket(micro_step, bucket);
    } else {
      late_buckets_.push_back(bucket);
    }
  }
}

void StageBuilder::reduce_bucket(int micro_step, int bucket) {
  const Collective collective =
      step_.sharding == Sharding::kNone ? Collective::kAllReduce : Collective::kReduceScatter;
  const std::int64_t elements = model().buckets[static_cast<std::size_t>(bucket)].elements;
  const int operation = send(StepPurpose::kReduceBucket, micro_step, bucket,
                             data_traffic(collective, step_.gradient_datatype, elements));
  if (!step_.overlap) wait_for(operation);
  reduces_.push_back(operation);
}

int StageBuilder::unit_uses() const {
  return static_cast<int>(model().units.size()) * 2 * step_.accumulation;
}

int StageBuilder::unit_of_use(int use) const {
  const auto units = static_cast<int>(model().units.size());
  const int at = use % (2 * units);
  return at < units ? units - 1 - at : at - units;
}

void StageBuilder::gather_up_to(int use, int micro_step) {
  for (int u = 0; u <= std::min(use, unit_uses() - 1); ++u) {
    int& gather = gathers_[static_cast<std::size_t>(u)];
    if (gather >= 0) continue;
    const int unit = unit_of_use(u);
    const std::int64_t elements = model().units[static_cast<std::size_t>(unit)].elements;
    gather = send(StepPurpose::kGatherUnit, micro_step, unit,
                  data_traffic(Collective::kAllGather, parameter_datatype(step_), elements));
  }
}

void StageBuilder::begin_unit(int micro_step, int tensor, bool forward) {
  if (unit_tensors_.empty() || plan_.layout.data == 1) return;
  const int unit = unit_of_tensor_[static_cast<std::size_t>(tensor)];
  if (unit < 0) return;
  const auto& [first, last] = unit_tensors_[static_cast<std::size_t>(unit)];
  if (tensor != (forward ? first : last)) return;
  const int use = uses_begun_++;
  gather_up_to(step_.overlap ? use + kUnitsAhead - 1 : use, micro_step);
  wait_for(gathers_[static_cast<std::size_t>(use)]);
}

// In a backward pass that has begun the unit of the last one: what recomputation needs of them all.
void StageBuilder::gather_units_of(int micro_step, int first_tensor, int last_tensor) {
  if (unit_tensors_.empty() || plan_.layout.data == 1) return;
  const int further = unit_of_tensor_[static_cast<std::size_t>(first_tensor)] -
                      unit_of_tensor_[static_cast<std::size_t>(last_tensor)];
  if (further == 0) return;
  const int use = uses_begun_ - 1 + further;
  gather_up_to(use, micro_step);
  wait_for(gathers_[static_cast<std::size_t>(use)]);
}

void StageBuilder::end_unit(int micro_step, int tensor, bool forward) {
  if (unit_tensors_.empty() || plan_.layout.data == 1 || !step_.overlap) return;
  const int unit = unit_of_tensor_[static_cast<std::size_t>(tensor)];
  if (unit < 0) return;
  const auto& [first, last] = unit_tensors_[static_cast<std::size_t>(unit)];
  if (tensor != (forward ? last : first)) return;
  gather_up_to(uses_begun_ - 1 + kUnitsAhead, micro_step);
}

}  // namespace gradhaul
