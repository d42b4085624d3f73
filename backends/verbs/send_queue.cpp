#include "backends/verbs/send_queue.h"

#include <arpa/inet.h>

#include <bit>
#include <utility>

#include "core/assert.h"

namespace gradhaul {

SendQueue::SendQueue(VerbsLibrary& verbs, ibv_qp* qp, const SendQueueSettings& settings)
    : verbs_(verbs),
      qp_(qp),
      settings_(settings),
      entries_(std::bit_ceil(static_cast<std::size_t>(settings.capacity))) {
  GRADHAUL_ASSERT(settings.capacity >= 1 && settings.signal_interval >= 1, "a queue has room");
}

void SendQueue::stage(const RemoteWrite& write) {
  GRADHAUL_ASSERT(occupied() < settings_.capacity, "limits keep a send queue from overflowing");
  Entry& added = entry(next_);
  added.write = write.write;
  added.piece = {.addr = write.address, .length = write.length, .lkey = write.key};
  ibv_send_wr& request = added.request;
  request = {};
  request.wr_id = settings_.id_base | next_;
  request.sg_list = &added.piece;
  request.num_sge = write.length > 0 ? 1 : 0;
  request.opcode = write.plain ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM;
  request.imm_data = htonl(write.immediate);
  request.wr.rdma.remote_addr = write.remote_address;
  request.wr.rdma.rkey = write.remote_key;
  if (write.length > 0 && write.length <= settings_.inline_bytes) {
    request.send_flags = IBV_SEND_INLINE;
  }
  if (staged_ > 0) entry(next_ - 1).request.next = &request;
  ++staged_;
  ++next_;
  if (staged_ % settings_.signal_interval == 0) request.send_flags |= IBV_SEND_SIGNALED;
}

int SendQueue::ring() {
  const int count = std::exchange(staged_, 0);
  if (count == 0) return 0;
  entry(next_ - 1).request.send_flags |= IBV_SEND_SIGNALED;
  const std::uint32_t first = next_ - static_cast<std::uint32_t>(count);
  for (std::uint32_t number = first; number != next_; ++number) {
    if ((entry(number).request.send_flags & IBV_SEND_SIGNALED) != 0) ++signalled_;
  }
  posted_ += count;
  ++rings_;
  ibv_send_wr* bad = nullptr;
  return verbs_.post_send(qp_, &entry(first).request, &bad);
}

std::int64_t SendQueue::retire() {
  GRADHAUL_ASSERT(occupied() > staged_, "only what was rung is done");
  return entry(retired_++).write;
}

}  // namespace gradhaul
