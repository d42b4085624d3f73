#pragma once

// How often a collective is run, agreed on by all ranks: warm-up, then timed iterations, until
// there are enough or the time for them is over.

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "core/result.h"

namespace gradhaul {

struct SeriesSettings {
  std::optional<int> iterations;  // nothing: up to kMostIterations, as `budget` allows
  std::optional<int> warmup;      // nothing: up to kMostWarmups, as a quarter of it allows
  std::chrono::nanoseconds budget{};
  int least = 1;  // timed iterations, whatever the budget
};

inline constexpr int kMostIterations = 20;
inline constexpr int kMostWarmups = 5;

// What ranks tell each other before each run; it also keeps them together.
struct Round {
  std::chrono::nanoseconds slowest{};  // of the run before
  bool interrupted = false;
};

class IterationSeries {
 public:
  IterationSeries(Exchange& exchange, const SeriesSettings& settings,
                  const std::atomic<bool>* interrupted)
      : exchange_(exchange), settings_(settings), interrupted_(interrupted) {}

  // Gives one run's time on this rank; called as often on every rank.
  struct Runner {
    std::function<void()> prepare;
    std::function<std::chrono::nanoseconds()> run;
  };
  // The times of the timed iterations, each the greatest over ranks; nothing where a rank was
  // interrupted. Throws what the runner and the exchange throw.
  std::optional<std::vector<std::chrono::nanoseconds>> times(const Runner& runner);

 private:
  Round meet(std::chrono::nanoseconds last);

  Exchange& exchange_;
  SeriesSettings settings_;
  const std::atomic<bool>* interrupted_;
};

// The smallest of at least one, in order, that so many of a hundred do not exceed.
std::chrono::nanoseconds nearest_rank(const std::vector<std::chrono::nanoseconds>& sorted,
                                      std::size_t percent);

// Of at least one time. p50 and p99 by the nearest rank: the smallest time that so many of a
// hundred do not exceed.
struct TimeSummary {
  Duration mean;
  Duration min;
  Duration p50;
  Duration p99;
  std::vector<Duration> each;  // in the order given
};
TimeSummary summary_of(std::vector<std::chrono::nanoseconds> times);

}  // namespace gradhaul
