#include "backends/measure/iteration_series.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "backends/bootstrap/wire_bytes.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

using std::chrono::nanoseconds;

Duration duration_of(nanoseconds time) { return {time.count() * 1000}; }

}  // namespace

nanoseconds nearest_rank(const std::vector<nanoseconds>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Round IterationSeries::meet(nanoseconds last) {
  WireWriter mine;
  mine.i64(last.count());
  mine.number(interrupted_ != nullptr && *interrupted_ ? 1 : 0, 1);
  Round round;
  for (const std::vector<std::byte>& record : exchange_.all_gather(mine.bytes())) {
    WireReader theirs(record);
    round.slowest = std::max(round.slowest, nanoseconds(theirs.i64()));
    round.interrupted = theirs.number(1) != 0 || round.interrupted;
  }
  return round;
}

std::optional<std::vector<nanoseconds>> IterationSeries::times(const Runner& runner) {
  const auto warm_enough = [&](int done, nanoseconds spent) {
    if (settings_.warmup) return done >= *settings_.warmup;
    return done >= kMostWarmups || (done >= 1 && spent >= settings_.budget / 4);
  };
  const auto enough = [&](std::size_t done, nanoseconds spent) {
    const auto count = static_cast<int>(done);
    if (settings_.iterations) return count >= *settings_.iterations;
    return count >= kMostIterations || (count >= settings_.least && spent >= settings_.budget);
  };
  std::vector<nanoseconds> times;
  nanoseconds last{};
  nanoseconds spent{};
  int warmups = 0;
  bool warm = warm_enough(0, spent);
  for (bool first = true;; first = false) {
    runner.prepare();
    const Round round = meet(last);
    if (round.interrupted) return std::nullopt;
    if (!first) {
      spent += round.slowest;
      if (warm) {
        times.push_back(round.slowest);
      } else if (warm_enough(++warmups, spent)) {
        warm = true;
        spent = {};
      }
    }
    if (warm && enough(times.size(), spent)) return times;
    last = runner.run();
  }
}

TimeSummary summary_of(std::vector<nanoseconds> times) {
  GRADHAUL_ASSERT(!times.empty(), "there is nothing to sum up");
  std::vector<Duration> each;
  for (const nanoseconds time : times) each.push_back(duration_of(time));
  std::sort(times.begin(), times.end());
  const nanoseconds sum = std::accumulate(times.begin(), times.end(), nanoseconds{});
  const auto count = static_cast<std::int64_t>(times.size());
  return {Duration{sum.count() * 1000 / count}, duration_of(times.front()),
          duration_of(nearest_rank(times, 50)), duration_of(nearest_rank(times, 99)),
          std::move(each)};
}

}  // namespace gradhaul
