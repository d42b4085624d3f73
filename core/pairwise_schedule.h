#pragma once

// All-to-all by pairwise exchange: in step s every rank r sends its part for rank r + s and
// receives the part of rank r - s, so that in each step every rank sends to one and receives from
// one.
//
// Part d of a rank's input goes to rank d, where it becomes part r of the output; all parts are
// equally large. Lane 0 sends, lane 1 receives and copies to the output, lane 2 copies the rank's
// own part. Not for use in place: a part would be overwritten before it is sent.

#include <vector>

#include "core/schedule.h"

namespace gradhaul {

class PairwiseSchedule final : public Schedule {
 public:
  // `part` says how what one rank sends to one other is cut: in channels, each of one chunk.
  PairwiseSchedule(const MessagePlan& part, Rank ranks);

  Rank ranks() const override { return ranks_; }
  int channels() const override { return part_.channels(); }
  int lanes() const override { return 3; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return slices_[static_cast<std::size_t>(channel)];
  }

 private:
  MessagePlan part_;
  Rank ranks_;
  std::vector<std::int64_t> slices_;
};

}  // namespace gradhaul
