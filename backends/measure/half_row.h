#pragma once

// One size, in place or not: half a row of nccl-tests' table.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/measure/collective_run.h"
#include "backends/measure/measure.h"
#include "backends/measure/measured_counters.h"
#include "core/make_schedule.h"
#include "core/placement.h"

namespace gradhaul {

class HalfRow {
 public:
  // All outlive it.
  HalfRow(const MeasureRequest& request, const Communication& communication,
          const Placement& placement, const RankResources& rank, Bytes size, bool in_place);

  // Of its iterations alone; what comes out is not looked at. As measure() otherwise.
  std::optional<std::vector<std::chrono::nanoseconds>> times();
  // Nothing where a rank was interrupted. Throws RankFailed, OthersFailed, ExchangeError,
  // std::bad_alloc.
  std::optional<ResultRow> measure();
  // Of the endpoint, once it has been measured.
  const std::vector<std::pair<std::string, std::string>>& facts() const { return facts_; }

 private:
  using Times = std::vector<std::chrono::nanoseconds>;

  // Fills in, and runs as often as `series` says.
  std::optional<Times> timed(CollectiveRun& run, std::uint64_t salt, const SeriesSettings& series);
  // Adds to `runs` how often it ran, warm-up included.
  std::optional<Times> iterate(CollectiveRun& run, const SeriesSettings& series, int& runs);
  std::unique_ptr<Endpoint> make_endpoint();
  void fill(std::uint64_t salt);
  std::int64_t count_wrong(std::uint64_t salt);
  // Of the iterations that were timed, and of their warm-up.
  struct Timed {
    Times times;
    int runs = 0;
    CountedAtPorts counted;  // by this rank's ports meanwhile
    Bytes sent;              // by this rank, in each
  };
  ResultRow row_of(const Timed& timed, std::int64_t wrong);

  const MeasureRequest& request_;
  const Communication& communication_;
  const RankResources& rank_;
  Bytes size_;
  bool in_place_;
  int channels_;
  Bytes element_;
  std::int64_t elements_;  // of input and output
  std::unique_ptr<Schedule> schedule_;
  CollectiveRunSettings run_;
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace gradhaul
