#include "core/nccl_profile.h"

#include "core/assert.h"

namespace gradhaul {
namespace {

std::optional<Algorithm> modelled(NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::kRing) return Algorithm::kRing;
  if (algorithm == NcclAlgorithm::kTree) return Algorithm::kDoubleBinaryTree;
  return std::nullopt;
}

}  // namespace

bool is_plan_for(const NcclEstimate& estimate, const Communication& asked) {
  const auto algorithm = modelled(estimate.algorithm);
  if (!algorithm) return false;
  if (!asked.choose_algorithm && asked.algorithm != *algorithm) return false;
  return asked.choose_protocol || asked.protocol == estimate.protocol;
}

Communication nccl_plan(const Communication& asked, const NcclEstimate& estimate) {
  GRADHAUL_ASSERT(is_plan_for(estimate, asked), "NCCL's choice is one that was left to it");
  Communication plan = asked;
  plan.algorithm = *modelled(estimate.algorithm);
  plan.choose_algorithm = false;
  plan.protocol = estimate.protocol;
  plan.choose_protocol = false;
  if (!plan.channels && plan.listed_rings.size() < 2) plan.channels = estimate.channels;
  if (!plan.own_slot_size) plan.slot_size = nccl_slot_size(plan.protocol);
  if (plan.slots == 0) plan.slots = nccl_slots(plan.protocol);
  return plan;
}

}  // namespace gradhaul
