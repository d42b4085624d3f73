#include "sim/pair_write.h"

#include <algorithm>
#include <deque>

#include "core/assert.h"
#include "sim/idle_connection.h"

namespace gradhaul {

Duration pair_write_time(const Fabric& fabric, int ranks_per_node, const PairWrite& pair) {
  GRADHAUL_ASSERT(pair.size.count > 0 && pair.slice.count > 0 && pair.slots > 0,
                  "something is written, slice by slice, into slots");
  Hop there = pair.hop;
  if (pair.host_memory) {
    there.relay_gpu = -1;
    there.staged_out = there.staged_in = true;
  }
  Hop back;
  back.source = there.destination;
  back.destination = there.source;
  back.source_nic = there.destination_nic;
  back.destination_nic = there.source_nic;
  const WriteEnds ends{.kernels = false, .host_memory = pair.host_memory};
  const PostingCosts posting{.thread_step = {}, .blue_flame = pair.blue_flame};
  IdleConnection connection(fabric, ranks_per_node, there, Protocol::kSimple, posting, ends);
  const std::int64_t credit =
      IdleConnection(fabric, ranks_per_node, back, Protocol::kSimple, posting, ends).credit();
  std::deque<std::int64_t> given_back;
  std::int64_t arrived = 0;
  std::int64_t posted = 0;
  for (std::int64_t sent = 0; sent < pair.size.count; sent += pair.slice.count) {
    if (given_back.size() == static_cast<std::size_t>(pair.slots)) {
      posted = std::max(posted, given_back.front());
      given_back.pop_front();
    }
    arrived = connection.send({std::min(pair.slice.count, pair.size.count - sent)}, posted);
    given_back.push_back(arrived + credit);
  }
  return {std::max(arrived, connection.done())};
}

}  // namespace gradhaul
