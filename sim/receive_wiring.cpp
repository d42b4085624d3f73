#include "sim/receive_wiring.h"

#include <algorithm>

#include "core/nccl_profile.h"
#include "core/receive_queue.h"

namespace gradhaul {

WiringSettings settings_of(const Communication& communication, std::uint64_t seed) {
  WiringSettings settings{communication.queue_pairs,
                          seed,
                          true,
                          communication.timeout,
                          communication.retry,
                          communication.blue_flame,
                          communication.flush,
                          communication.protocol};
  settings.splits = communication.splits_over_queue_pairs;
  if (communication.tcp) return settings;
  settings.receives = posted_receives(communication);
  settings.needed_receives = communication.slots;
  settings.credits_take_receives = !is_nccl_profile(communication.profile);
  settings.rnr_timer = communication.rnr_timer;
  settings.rnr_retry = communication.rnr_retry;
  return settings;
}

void take_receives(const WiringSettings& settings, const Faults& faults, int node, bool credit,
                   Path& path) {
  if (settings.receives == 0 || (credit && !settings.credits_take_receives)) return;
  const Duration late = lateness_of_receives(faults, node);
  if (settings.receives >= settings.needed_receives && late.ps == 0) return;
  path.receives = settings.receives;
  path.receives_late = late;
  path.rnr_timer = settings.rnr_timer;
  path.rnr_retry = settings.rnr_retry;
}

bool lacks_receives(const Wiring& wiring) {
  return std::any_of(wiring.connections.begin(), wiring.connections.end(),
                     [](const WiredConnection& wired) {
                       return wired.data.receives > 0 || wired.credit.receives > 0;
                     });
}

}  // namespace gradhaul
