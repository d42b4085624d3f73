#pragma once

// Each rank sends its whole message to the next rank and receives that of the previous one: output
// of r = input of r - 1. Lane 0 sends, lane 1 receives and copies to the output. Not for use in
// place: the arriving message would overwrite the leaving one.

#include <vector>

#include "core/schedule.h"

namespace gradhaul {

class SendRecvSchedule final : public Schedule {
 public:
  // The plan cuts the message in channels, each of one chunk.
  SendRecvSchedule(const MessagePlan& plan, Rank ranks);

  Rank ranks() const override { return ranks_; }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 2; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return slices_[static_cast<std::size_t>(channel)];
  }

 private:
  MessagePlan plan_;
  Rank ranks_;
  std::vector<std::int64_t> slices_;
};

}  // namespace gradhaul
