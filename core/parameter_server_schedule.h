#pragma once

// All-reduce by a server: rank 0 receives every other rank's input, reduces them in the order of
// the ranks, its own first, and sends the result back (Li et al., "Scaling distributed machine
// learning with the parameter server", OSDI 2014, with one server that takes part). The server
// sends and receives (N-1) times the message, every other rank once: T >= (N-1) S / B.
//
// Lane 0 is the way to the server, lane 1 the way back, both slice by slice. An item has up to four
// peers, so at the server a slice is (N-1)/4 items. A slice is sent back when its sum is there, and
// overwrites what its owner has sent before. Hence in place works.

#include <vector>

#include "core/message_plan.h"
#include "core/schedule.h"

namespace gradhaul {

class ParameterServerSchedule final : public Schedule {
 public:
  // The message is one chunk of each channel.
  ParameterServerSchedule(const MessagePlan& plan, Rank ranks);

  Rank ranks() const override { return ranks_; }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 2; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return plan_.slices_per_chunk(channel);
  }
  std::int64_t items_per_slice(Rank rank, int channel, int lane) const override;

 private:
  Item at_server(int lane, std::int64_t index, std::int64_t batch, Span span) const;

  MessagePlan plan_;
  Rank ranks_;
};

}  // namespace gradhaul
