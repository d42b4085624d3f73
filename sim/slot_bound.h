#pragma once

// What a connection's slots allow: a message may be posted when the one `slots` before it has
// arrived, has been taken in by the kernel and its slot's credit has come back. With W slots and
// round trips R_j of its messages, one of the W interleaved sequences of messages takes at least
// their mean, sum R_j / W, less what those at its end need not wait for.

#include "sim/connection_traffic.h"
#include "sim/hop_latency.h"

namespace gradhaul {

class SlotBound final : public TrafficSink {
 public:
  SlotBound(const PredictionRequest& request, const Placement& placement, HopLatency& latency)
      : request_(request), placement_(placement), latency_(latency) {}

  void on_connection(const ConnectionTraffic& traffic) override;
  void on_kernel(Rank, int, const KernelTraffic&) override {}
  void on_rank_end(Rank) override {}

  // Of the connection that is slowed down most; zero where none has more messages than slots.
  Duration time() const { return time_; }
  const Hop& hop() const { return hop_; }

 private:
  const PredictionRequest& request_;
  const Placement& placement_;
  HopLatency& latency_;
  Duration time_;
  Hop hop_;
};

}  // namespace gradhaul
