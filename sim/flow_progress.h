#pragma once

// The dates of a fluid run, in picoseconds since the kernels run. What a solver says of each
// transfer is when its last unit has passed the narrowest place of its way; the rest follows here.
// With, of a conveyor h, first slice X (sim/flow_plan.h), of that s at the narrowest place
// (FlowPath::pace), and of its transfer i
//
//   start    S(h, i) = max(E(h, i - 1), over inputs g: S(g, j) + X(g), S(last of `after`),
//            E(last of `follows`), S(h, i - window) + X(h) + slot return)
//            as soon as the first slice is there, behind the one before, and with a free slot
//   end      E(h, i) = max(end of the flow, over inputs g: A(g, j) + s(h))
//            the last slice passes the slowest stage no earlier than it came
//   arrival  A(h, i) = E(h, i) + X(h) - s(h)
//            less FlowPath::early where the flow's end decided E, but not before A(g, j) + X(h)
//
// These are the dates of the first and the last slice when a chunk goes slice by slice, each stage
// serving them in order and at a constant pace: of the paths through a grid of (stage, slice) whose
// steps cost s(stage), the longest turns at the first or the last slice. So a chunk is passed on
// while it comes, as slices are, and whole chunks lose no time against them.
//
// Where the steps of a ring recur (sim/flow_dates.h), the dates of the remaining ones follow, and
// the run may end. The spread of the recurrence times the periods left out is the rounding error.

#include <cstdint>
#include <vector>

#include "sim/blame.h"
#include "sim/flow_blame.h"
#include "sim/flow_dates.h"
#include "sim/flow_paths.h"

namespace gradhaul {

struct FlowStart {
  std::int32_t conveyor = 0;
  std::int64_t units = 0;
  std::int64_t time = 0;
};

class FlowProgress {
 public:
  // All but the last outlive this.
  FlowProgress(const FlowPlan& plan, const FlowPaths& paths, FlowBlame& costs, bool skip);

  void begin();
  void on_end(std::int32_t conveyor, std::int64_t time);
  // Transfers that begin() or on_end() found ready since the last call, none before that call's
  // time.
  std::vector<FlowStart> take_starts();

  // Nothing more needs to be simulated: all is done, or the rest follows.
  bool complete() const { return recurrence_.period > 0 || settled_ == transfers_; }
  double progress() const;

  // Once complete.
  std::int64_t end() const { return end_; }
  std::vector<TracePart> critical_path() const;  // adds up to end()
  std::int64_t steps() const;
  std::int64_t simulated_steps() const;
  std::int64_t period() const { return recurrence_.period; }
  Duration rounding_error() const { return rounding_error_; }
  std::uint64_t digest() const;

 private:
  // Chains of so many transfers are kept; what waits for older ones waited for something else.
  static constexpr std::int64_t kChains = 4;
  static constexpr ChainId kNoChain = -1;

  struct State {
    std::int64_t started = 0;
    std::int64_t settled = 0;
    std::int64_t flow_end = -1;  // of the transfer under way
    std::int64_t ready = 0;      // E of the last settled one
    ChainId ready_chain = kNoChain;
    ChainId starts[kChains] = {kNoChain, kNoChain, kNoChain, kNoChain};
    ChainId arrivals[kChains] = {kNoChain, kNoChain, kNoChain, kNoChain};
    std::vector<std::int32_t> followers;
  };
  // What decided a date: what a transfer of which conveyor has done.
  enum class Event : std::uint8_t { kEnd, kSlice, kStart, kSlot };
  struct Origin {
    std::int64_t time = 0;
    Event event = Event::kEnd;
    std::int32_t conveyor = 0;
    std::int64_t transfer = 0;
    void offer(const Origin& other) {
      if (other.time > time) *this = other;
    }
  };

  State& state(std::int32_t conveyor) { return states_[static_cast<std::size_t>(conveyor)]; }
  const Conveyor& of(std::int32_t conveyor) const {
    return plan_.conveyors[static_cast<std::size_t>(conveyor)];
  }
  std::int64_t pace(std::int32_t conveyor) const {
    return paths_.paths[static_cast<std::size_t>(conveyor)].pace.ps;
  }
  void look_at_due();
  void add_followers(std::int32_t conveyor);
  bool try_start(std::int32_t conveyor);
  Origin start_of(std::int32_t conveyor, std::int64_t transfer);
  bool may_start(std::int32_t conveyor, std::int64_t transfer);
  bool try_settle(std::int32_t conveyor);
  ChainId start_chain(std::int32_t conveyor, const Origin& origin);
  ChainId end_chain(std::int32_t conveyor, std::int64_t transfer, const Origin& origin);
  ChainId kept(const ChainId (&chains)[kChains], std::int64_t transfer, std::int64_t count) const;
  void replace(ChainId& place, ChainId chain);
  void on_settled(std::int32_t conveyor, std::int64_t transfer, std::int64_t arrival);
  void extrapolate();

  const FlowPlan& plan_;
  const FlowPaths& paths_;
  FlowBlame& costs_;
  bool skip_;
  Blame blame_;
  FlowDates dates_;
  std::vector<State> states_;
  std::vector<std::int32_t> due_;
  std::vector<FlowStart> starts_;
  std::vector<std::int64_t> finished_;  // by step: conveyors that have settled it
  std::int64_t now_ = 0;
  std::int64_t whole_steps_ = 0;
  std::int64_t transfers_ = 0;
  std::int64_t settled_ = 0;
  std::int64_t end_ = 0;
  std::int64_t extrapolated_ = 0;  // of it, behind what last_chain_ explains
  ChainId last_chain_ = kNoChain;
  FlowRecurrence recurrence_;
  Duration rounding_error_;
};

}  // namespace gradhaul
