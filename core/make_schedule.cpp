#include "core/make_schedule.h"

#include "core/assert.h"
#include "core/binary_cube.h"
#include "core/chain_broadcast_schedule.h"
#include "core/collective_algorithms.h"
#include "core/double_binary_tree_schedule.h"
#include "core/halving_doubling_schedule.h"
#include "core/hierarchical_all_to_all_schedule.h"
#include "core/hierarchical_schedule.h"
#include "core/listed_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/parameter_server_schedule.h"
#include "core/recursive_doubling_schedule.h"
#include "core/ring_all_gather_schedule.h"
#include "core/ring_reduce_scatter_schedule.h"
#include "core/ring_schedule.h"
#include "core/ring_step_schedule.h"
#include "core/send_recv_schedule.h"
#include "core/tree_broadcast_schedule.h"

namespace gradhaul {
namespace {

MessagePlan plan_for(const ScheduleRequest& request, const Placement& placement, std::int64_t count,
                     int parts) {
  return {count, request.datatype, placement.channels, parts, request.slot_size};
}

std::unique_ptr<Schedule> make_all_reduce(const ScheduleRequest& request,
                                          const Placement& placement) {
  const auto plan = [&](int parts) { return plan_for(request, placement, request.count, parts); };
  const std::vector<std::vector<Rank>>& rings = placement.rings;
  const int per_node = placement.ranks_per_node;
  switch (request.algorithm) {
    case Algorithm::kRing:
      if (request.one_step) return std::make_unique<RingStepSchedule>(plan(request.ranks), rings);
      return std::make_unique<RingSchedule>(plan(request.ranks), rings);
    case Algorithm::kTree:
      return std::make_unique<DoubleBinaryTreeSchedule>(plan(1), rings, per_node);
    case Algorithm::kDoubleBinaryTree:
      return std::make_unique<DoubleBinaryTreeSchedule>(plan(2), rings, per_node);
    case Algorithm::kHierarchical:
      return std::make_unique<HierarchicalSchedule>(plan(request.ranks), rings, per_node);
    case Algorithm::kHalvingDoubling:
      return std::make_unique<HalvingDoublingSchedule>(plan(BinaryCube(request.ranks).corners()),
                                                       rings);
    case Algorithm::kRecursiveDoubling:
      return std::make_unique<RecursiveDoublingSchedule>(plan(1), rings);
    case Algorithm::kParameterServer:
      return std::make_unique<ParameterServerSchedule>(plan(1), request.ranks);
    case Algorithm::kPairwise:
    case Algorithm::kListed:
      break;
  }
  GRADHAUL_ASSERT(false, "all_reduce has no such algorithm");
  return nullptr;
}

std::unique_ptr<Schedule> make_all_to_all(const ScheduleRequest& request,
                                          const Placement& placement) {
  const std::int64_t part = request.count / request.ranks;
  if (request.algorithm == Algorithm::kHierarchical) {
    const int per_node = placement.ranks_per_node;
    return std::make_unique<HierarchicalAllToAllSchedule>(
        part, plan_for(request, placement, part * per_node, 1), request.ranks, per_node);
  }
  return std::make_unique<PairwiseSchedule>(plan_for(request, placement, part, 1), request.ranks);
}

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleRequest& request,
                                        const Placement& placement) {
  if (request.algorithm == Algorithm::kListed) {
    GRADHAUL_ASSERT(request.listed != nullptr, "a listed algorithm is there");
    return std::make_unique<ListedSchedule>(
        request.listed, request.count, request.slot_size.count / size_of(request.datatype).count);
  }
  GRADHAUL_ASSERT(
      has_algorithm(request.collective, running_algorithm(request.collective, request.algorithm)),
      "the collective has the algorithm");
  const std::vector<std::vector<Rank>>& rings = placement.rings;
  const auto whole = [&] { return plan_for(request, placement, request.count, 1); };
  const auto part = [&] { return plan_for(request, placement, request.count / request.ranks, 1); };
  switch (request.collective) {
    case Collective::kAllReduce:
      return make_all_reduce(request, placement);
    case Collective::kReduceScatter:
      return std::make_unique<RingReduceScatterSchedule>(part(), rings);
    case Collective::kAllGather:
      return std::make_unique<RingAllGatherSchedule>(part(), rings);
    case Collective::kBroadcast:
      if (request.algorithm == Algorithm::kRing) {
        return std::make_unique<ChainBroadcastSchedule>(whole(), rings);
      }
      return std::make_unique<TreeBroadcastSchedule>(whole(), rings, placement.ranks_per_node);
    case Collective::kAllToAll:
      return make_all_to_all(request, placement);
    case Collective::kSendRecv:
      return std::make_unique<SendRecvSchedule>(whole(), request.ranks);
  }
  GRADHAUL_ASSERT(false, "no schedule for this collective");
  return nullptr;
}

std::int64_t elements_of_message(Collective collective, std::int64_t count, Rank ranks) {
  const bool in_parts = collective == Collective::kReduceScatter ||
                        collective == Collective::kAllGather || collective == Collective::kAllToAll;
  return in_parts ? count / ranks * ranks : count;
}

Span result_of(Collective collective, std::int64_t count, Rank ranks, Rank rank) {
  const std::int64_t elements = elements_of_message(collective, count, ranks);
  if (collective != Collective::kReduceScatter) return {0, elements};
  return {rank * (elements / ranks), elements / ranks};
}

bool runs_in_place(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
}

bool runs_in_place(Collective collective, const Communication& communication) {
  return communication.listed ? communication.listed->in_place : runs_in_place(collective);
}

}  // namespace gradhaul
