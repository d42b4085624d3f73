#include "sim/flow_dates.h"

namespace gradhaul {

FlowDates::FlowDates(std::size_t conveyors)
    : dates_(conveyors * static_cast<std::size_t>(kKept)), counts_(conveyors, 0) {}

// Over the first so many conveyors and the last so many steps; nothing where it is more than
// rounding.
std::optional<std::int64_t> FlowDates::spread(std::size_t conveyors, std::int64_t steps,
                                              std::int64_t period, std::int64_t compared) const {
  std::int64_t least = INT64_MAX;
  std::int64_t most = INT64_MIN;
  for (std::size_t i = 0; i < conveyors; ++i) {
    const auto conveyor = static_cast<std::int32_t>(i);
    for (std::int64_t step = steps - compared; step < steps; ++step) {
      const std::int64_t starts = start(conveyor, step) - start(conveyor, step - period);
      const std::int64_t arrivals = arrival(conveyor, step) - arrival(conveyor, step - period);
      least = std::min({least, starts, arrivals});
      most = std::max({most, starts, arrivals});
    }
    if (most - least > std::max(kRoundingPs, most / kRelativeRounding)) return std::nullopt;
  }
  return most - least;
}

std::optional<FlowRecurrence> FlowDates::recurrence(std::int64_t steps, std::int64_t least) const {
  for (std::int64_t period = 1; period <= kLongestPeriod; ++period) {
    const std::int64_t compared = std::max(period, least);
    if (steps < compared + period || most_started_ - (steps - compared - period) > kKept) break;
    if (!spread(1, steps, period, compared)) continue;
    const auto all = spread(counts_.size(), steps, period, compared);
    if (all) return FlowRecurrence{period, *all};
  }
  return std::nullopt;
}

}  // namespace gradhaul
