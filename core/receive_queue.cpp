#include "core/receive_queue.h"

namespace gradhaul {

bool may_lack_receives(const Communication& communication, const Cluster& cluster) {
  if (cluster.nodes < 2 || communication.tcp) return false;
  return posted_receives(communication) < communication.slots ||
         !cluster.faults.late_receives.empty();
}

}  // namespace gradhaul
