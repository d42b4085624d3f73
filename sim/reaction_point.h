#pragma once

// The sending end of DCQCN, for one queue pair: its rate, cut when notifications come and won back
// when they stay away. As the paper (Zhu et al., SIGCOMM 2015) has it, and where firmware differs,
// as that does: alpha follows a timer of its own, a rate is cut at most once in an interval, and
// the target is left where it is unless there was an increase since the last cut, or it is to be
// clamped. A rate to set on the first notification is where both start, as in HPCC's model of that
// firmware (Li et al., SIGCOMM 2019): the notification then cuts as any other.
//
//   alpha <- (1 - g) alpha + g where a notification came in the interval, else (1 - g) alpha
//   cut:      target <- rate; rate <- rate (1 - alpha / 2), or rate x the least factor of a cut if
//             that is more
//   increase: the first F go half the way to the target; then the target rises by the additive step
//             (and after one more by the hyper step; where bytes are counted too, once both have
//             been through F), and the rate goes half the way
//
// Timers are worked off when somebody asks. Rates are bits of the wire a second; plain IEEE
// arithmetic, the same on every machine.

#include <cstdint>

#include "core/cluster.h"

namespace gradhaul {

class ReactionPoint {
 public:
  ReactionPoint(const CongestionControl& settings, BitRate line);

  // A notification has come at `now` (ps), which is not before any earlier call's.
  void on_notification(std::int64_t now);
  void on_sent(Bytes wire, std::int64_t now);
  // The time that so much may take until the next may be sent; 0: nothing holds it back.
  std::int64_t spacing(Bytes wire, std::int64_t now);

  double rate(std::int64_t now) { return advance(now), rate_; }
  double target() const { return target_; }
  double alpha() const { return alpha_; }

 private:
  void advance(std::int64_t now);
  void update_alpha();
  void cut(std::int64_t now);
  void increase();

  CongestionControl settings_;
  double line_;
  double rate_;
  double target_;
  double alpha_;
  bool active_ = false;             // a notification has come
  bool notified_alpha_ = false;     // since the last update of alpha
  bool notified_decrease_ = false;  // since the last cut
  bool increased_ = true;           // since the last cut
  std::int64_t next_alpha_ = INT64_MAX;
  std::int64_t next_decrease_ = INT64_MAX;
  std::int64_t next_increase_ = INT64_MAX;
  std::int64_t bytes_ = 0;  // since the last increase by bytes
  int by_timer_ = 0;        // increases since the last cut
  int by_bytes_ = 0;
};

}  // namespace gradhaul
