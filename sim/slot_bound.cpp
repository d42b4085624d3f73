#include "sim/slot_bound.h"

#include <algorithm>

namespace gradhaul {

void SlotBound::on_connection(const ConnectionTraffic& traffic) {
  const int slots = request_.communication.slots;
  if (traffic.messages() <= slots) return;
  const ConnectionKey& key = traffic.key;
  const Hop hop =
      hop_between(placement_, request_.cluster, key.channel, key.source, key.destination);
  const Duration back = latency_.slot_return(hop);
  std::int64_t sum = 0;
  Duration longest;
  Duration last{INT64_MAX};
  for (int i = 0; i < traffic.sizes; ++i) {
    const MessageCount& messages = traffic.by_size[static_cast<std::size_t>(i)];
    const Duration in = latency_.message(hop, messages.size).arrived +
                        latency_.kernel(key.destination, ReduceKind::kCopy, messages.size);
    sum += (in + back).ps * messages.count;
    longest = std::max(longest, in + back);
    last = std::min(last, in);
  }
  const Duration time = Duration{sum / slots} - longest + last;
  if (time <= time_) return;
  time_ = time;
  hop_ = hop;
}

}  // namespace gradhaul
