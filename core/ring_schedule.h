#pragma once

// Ring all-reduce (Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 2009): reduce-scatter, then all-gather, around one ring per channel. Each
// rank sends 2(N-1)/N of the message, to its successor alone.
//
// One lane of 2N-1 steps of the channel's slices; step s of the rank at position p concerns chunk
// (p - s) mod N:
//   0            send the rank's own chunk from the input
//   1 … N-1      receive, reduce into the output, send on; at N-1 the sum is complete
//   N … 2N-3     receive, copy to the output, send on
//   2N-2         receive, copy to the output
// Partial sums live in the output. Step N + j overwrites what step j sent, so it waits until that
// is written out; hence in place works.

#include <vector>

#include "core/schedule.h"

namespace gradhaul {

class RingSchedule final : public Schedule {
 public:
  // One ring of all ranks per channel of the plan; the plan's parts are the ranks, at least 2.
  RingSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings);

  Rank ranks() const override { return plan_.parts(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 1; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  bool steps_are_even() const override { return true; }
  std::int64_t slices_per_step(int channel) const override {
    return slices_[static_cast<std::size_t>(channel)];
  }

 private:
  struct Seat {
    int position = -1;
    Rank previous = 0;
    Rank next = 0;
  };
  const Seat& seat(Rank rank, int channel) const {
    return seats_[static_cast<std::size_t>(channel) * static_cast<std::size_t>(ranks()) +
                  static_cast<std::size_t>(rank)];
  }

  MessagePlan plan_;
  std::vector<Seat> seats_;  // by channel, then rank
  std::vector<std::int64_t> slices_;
};

}  // namespace gradhaul
