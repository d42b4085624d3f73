#include "core/make_schedule.h"

#include "core/assert.h"
#include "core/double_binary_tree_schedule.h"
#include "core/pairwise_schedule.h"
#include "core/ring_schedule.h"
#include "core/send_recv_schedule.h"

namespace gradhaul {
namespace {

MessagePlan plan_for(const ScheduleRequest& request, const Placement& placement, std::int64_t count,
                     int parts) {
  return {count, request.datatype, placement.channels, parts, request.slot_size};
}

std::unique_ptr<Schedule> make_all_reduce(const ScheduleRequest& request,
                                          const Placement& placement) {
  if (request.algorithm == Algorithm::kDoubleBinaryTree) {
    return std::make_unique<DoubleBinaryTreeSchedule>(
        plan_for(request, placement, request.count, 2), placement.rings, placement.ranks_per_node);
  }
  GRADHAUL_ASSERT(request.algorithm == Algorithm::kRing, "all_reduce is a ring or a tree");
  return std::make_unique<RingSchedule>(plan_for(request, placement, request.count, request.ranks),
                                        placement.rings);
}

}  // namespace

std::unique_ptr<Schedule> make_schedule(const ScheduleRequest& request,
                                        const Placement& placement) {
  switch (request.collective) {
    case Collective::kAllReduce:
      return make_all_reduce(request, placement);
    case Collective::kAllToAll:
      return std::make_unique<PairwiseSchedule>(
          plan_for(request, placement, request.count / request.ranks, 1), request.ranks);
    case Collective::kSendRecv:
      return std::make_unique<SendRecvSchedule>(plan_for(request, placement, request.count, 1),
                                                request.ranks);
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kBroadcast:
      break;
  }
  GRADHAUL_ASSERT(false, "no schedule for this collective");
  return nullptr;
}

bool runs_in_place(Collective collective) {
  return collective != Collective::kAllToAll && collective != Collective::kSendRecv;
}

}  // namespace gradhaul
