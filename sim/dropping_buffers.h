#pragma once

// Buffers of Ethernet ports whose peers nobody pauses: what does not fit is dropped. In wire bytes.
//
// A switch's ports share its buffer. A packet takes its room when it comes to wait for its outgoing
// link, and gives it back when its last bit has left. With `alpha`, no outgoing queue gets more
// than alpha x (what is free of the buffer): k queues that overflow settle at alpha B / (1 + k
// alpha) each [Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
// switches", 1998]. At one instant departures come first.
//
// A NIC has a buffer for what it has not yet passed on. What is on the wire to it counts as if it
// were there.

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/fabric.h"

namespace gradhaul {

class DroppingBuffers {
 public:
  explicit DroppingBuffers(const Fabric& fabric);

  // A packet comes to wait for the link at a switch: whether it is kept.
  bool keeps_waiting(LinkId link, std::int64_t now, std::int64_t bytes) {
    return keeps(waiting_at(link), now, bytes);
  }
  // It will have left by the link at `time`.
  void leaves(LinkId link, std::int64_t time, std::int64_t bytes) {
    lets_go(waiting_at(link), time, bytes);
  }
  // The same of the NIC at the far end of the link.
  bool keeps_arriving(LinkId link, std::int64_t now, std::int64_t bytes) {
    return keeps(arriving_by(link), now, bytes);
  }
  void passed_on(LinkId link, std::int64_t time, std::int64_t bytes) {
    lets_go(arriving_by(link), time, bytes);
  }
  // The most that ever waited for the link at a switch.
  std::int64_t most(LinkId link) const { return queues_[static_cast<std::size_t>(link)].most; }

 private:
  struct Leaving {
    std::int64_t time;
    std::int64_t bytes;
    std::size_t queue;
    friend bool operator>(const Leaving& a, const Leaving& b) { return a.time > b.time; }
  };
  struct Queue {
    std::int32_t pool = -1;
    std::int64_t held = 0;
    std::int64_t most = 0;
  };
  struct Pool {
    std::int64_t size = 0;
    double alpha = 0;
    std::int64_t held = 0;
    std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving = {};
  };

  static std::size_t waiting_at(LinkId link) { return static_cast<std::size_t>(link); }
  std::size_t arriving_by(LinkId link) const {
    return queues_.size() / 2 + static_cast<std::size_t>(link);
  }
  Pool& pool_of(std::size_t queue) { return pools_[static_cast<std::size_t>(queues_[queue].pool)]; }
  bool keeps(std::size_t queue, std::int64_t now, std::int64_t bytes);
  void lets_go(std::size_t queue, std::int64_t time, std::int64_t bytes) {
    pool_of(queue).leaving.push({time, bytes, queue});
  }

  std::vector<Queue> queues_;  // by outgoing link, then by the link into a NIC; none: none drops
  std::vector<Pool> pools_;    // switches, then NICs
};

}  // namespace gradhaul
