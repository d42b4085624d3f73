#include "core/nccl_profile.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/assert.h"

namespace gradhaul {
namespace {

std::optional<Algorithm> modelled(NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::kRing) return Algorithm::kRing;
  if (algorithm == NcclAlgorithm::kTree) return Algorithm::kDoubleBinaryTree;
  return std::nullopt;
}

// What NCCL takes one link of NVLink to carry, by generation [NCCL, src/graph/topo.h].
constexpr double link_rate(int compute_capability) {
  if (compute_capability >= 100) return 40.1e9;
  return compute_capability >= 90 ? 20.6e9 : 20e9;
}

int channels_within_node(const Node& node) {
  if (!node.nvlink) return 2;
  const double carried =
      static_cast<double>(node.nvlink->bandwidth.bits_per_second) / 8 * node.nvlink->efficiency;
  const auto links =
      static_cast<int>(std::lround(carried / link_rate(node.gpu.compute_capability)));
  return 2 * std::max(1, links);
}

}  // namespace

Bytes nccl_peer_slot_size(const Cluster& cluster) {
  return {(cluster.nodes == 1 && cluster.node.nvlink ? 512 : 128) * 1024};
}

int nccl_peer_channels(const Cluster& cluster, NcclVersion version) {
  const int all = std::max(1, find_nccl_graphs(cluster, version).compute_channels);
  int each = all;
  if (cluster.ranks_per_node > 1) each = std::min(each, channels_within_node(cluster.node));
  if (cluster.nodes > 1) each = std::min(each, 2 * cluster.ranks() > 4 * all ? 1 : 2);
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(each)));
}

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
