#pragma once

// When each transfer of each conveyor started and arrived, the last ones of each; and whether they
// recur: every conveyor starts a step, and has it there, as long after that of `period` steps
// before as every other, and so it has been for a whole period. How far these differences are apart
// is the spread; it may be a millionth of them, since chunks and with them headers are not quite
// equal, and 4 ps, since dates are whole picoseconds.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace gradhaul {

struct FlowRecurrence {
  std::int64_t period = 0;  // steps
  std::int64_t spread = 0;  // ps
};

class FlowDates {
 public:
  explicit FlowDates(std::size_t conveyors);

  void add_start(std::int32_t conveyor, std::int64_t transfer, std::int64_t time) {
    place(conveyor, transfer).start = time;
    std::int64_t& count = counts_[static_cast<std::size_t>(conveyor)];
    count = transfer + 1;
    most_started_ = std::max(most_started_, count);
  }
  void add_arrival(std::int32_t conveyor, std::int64_t transfer, std::int64_t arrival) {
    place(conveyor, transfer).arrival = arrival;
  }
  // False where the date is not kept any more: then it was long ago.
  bool keeps(std::int32_t conveyor, std::int64_t transfer) const {
    return counts_[static_cast<std::size_t>(conveyor)] - transfer <= kKept;
  }
  std::int64_t start(std::int32_t conveyor, std::int64_t transfer) const {
    return place(conveyor, transfer).start;
  }
  std::int64_t arrival(std::int32_t conveyor, std::int64_t transfer) const {
    return place(conveyor, transfer).arrival;
  }

  // Of steps 0 to `steps` - 1, which all conveyors have finished; no shorter than `least` steps
  // alike. The shortest period there is.
  std::optional<FlowRecurrence> recurrence(std::int64_t steps, std::int64_t least) const;

 private:
  static constexpr std::int64_t kKept = 128;
  static constexpr std::int64_t kLongestPeriod = 32;
  static constexpr std::int64_t kRoundingPs = 4;
  static constexpr std::int64_t kRelativeRounding = 1'000'000;

  struct Dates {
    std::int64_t start = 0;
    std::int64_t arrival = 0;
  };
  Dates& place(std::int32_t conveyor, std::int64_t transfer) {
    return dates_[static_cast<std::size_t>(conveyor * kKept + transfer % kKept)];
  }
  const Dates& place(std::int32_t conveyor, std::int64_t transfer) const {
    return dates_[static_cast<std::size_t>(conveyor * kKept + transfer % kKept)];
  }
  std::optional<std::int64_t> spread(std::size_t conveyors, std::int64_t steps, std::int64_t period,
                                     std::int64_t compared) const;

  std::vector<Dates> dates_;
  std::vector<std::int64_t> counts_;
  std::int64_t most_started_ = 0;
};

}  // namespace gradhaul
