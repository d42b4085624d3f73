#include "core/busbw.h"

namespace gradhaul {

double busbw_factor(Collective collective, int ranks) {
  const double n = ranks;
  switch (collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kSendRecv:
      return 1;
  }
  return 1;
}

double algbw(Bytes size, Duration time) {
  return time.ps > 0 ? static_cast<double>(size.count) / time.seconds() : 0;
}

double busbw(Collective collective, int ranks, Bytes size, Duration time) {
  return algbw(size, time) * busbw_factor(collective, ranks);
}

}  // namespace gradhaul
