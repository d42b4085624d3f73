#include "backends/verbs/async_events.h"

#include <algorithm>
#include <array>

namespace gradhaul {
namespace {

constexpr std::array<AsyncEventMeaning, 14> kMeanings{{
    {IBV_EVENT_CQ_ERR, EventConcerns::kDevice, "CQ error",
     "a completion queue overran; it is made for all that may be posted, so this is a fault of the "
     "device or of its driver"},
    {IBV_EVENT_QP_FATAL, EventConcerns::kQueuePair, "local work queue catastrophic error",
     "the device could not go on with this queue pair; see the driver's messages (dmesg)"},
    {IBV_EVENT_QP_REQ_ERR, EventConcerns::kQueuePair, "invalid request local work queue error",
     "the peer sent what this queue pair does not take; check that both ranks run one version of "
     "this program and use one slot_size"},
    {IBV_EVENT_QP_ACCESS_ERR, EventConcerns::kQueuePair, "local access violation work queue error",
     "the peer wrote where nothing is registered for it: a wrong address or rkey; check that both "
     "ranks use one slot_size and as many slots"},
    {IBV_EVENT_PATH_MIG, EventConcerns::kPort, "path migrated", "the path was changed"},
    {IBV_EVENT_PATH_MIG_ERR, EventConcerns::kQueuePair, "path migration request error",
     "the path could not be changed"},
    {IBV_EVENT_DEVICE_FATAL, EventConcerns::kDevice, "local catastrophic error",
     "the device failed; see the driver's messages (dmesg)"},
    {IBV_EVENT_PORT_ACTIVE, EventConcerns::kPort, "port active", "the link came up (again)"},
    {IBV_EVENT_PORT_ERR, EventConcerns::kPort, "port error", "the link went down"},
    {IBV_EVENT_LID_CHANGE, EventConcerns::kPort, "LID change", "the subnet manager renumbered it"},
    {IBV_EVENT_PKEY_CHANGE, EventConcerns::kPort, "P_Key change", "its partitions changed"},
    {IBV_EVENT_SM_CHANGE, EventConcerns::kPort, "SM change", "there is another subnet manager"},
    {IBV_EVENT_GID_CHANGE, EventConcerns::kPort, "GID change",
     "its addresses changed: connections keep the old ones"},
    {IBV_EVENT_CLIENT_REREGISTER, EventConcerns::kPort, "client reregister",
     "the subnet manager was restarted"},
}};

}  // namespace

AsyncEventMeaning meaning_of(ibv_event_type type) {
  const auto* found = std::ranges::find(kMeanings, type, &AsyncEventMeaning::type);
  if (found != kMeanings.end()) return *found;
  return {type, EventConcerns::kNobody, "other", ""};  // connections established, queues drained
}

}  // namespace gradhaul
