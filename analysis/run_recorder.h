#pragma once

// Keeps what a run is seen to do, bounded: slices one by one until there are too many, and links as
// merged busy intervals and series of bins, which grow coarser instead.

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/busy_intervals.h"
#include "analysis/queue_meter.h"
#include "analysis/time_bins.h"
#include "core/run_observer.h"

namespace gradhaul {

struct RecordingSettings {
  // In ps of each row; what has to do with it is kept.
  std::int64_t from = 0;
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  std::optional<std::set<Rank>> ranks;  // none: all
  std::vector<std::string> links;       // names or their beginnings, up to a dot; none: all
  std::int64_t most_events = 1'000'000;
  int rows = 1;  // that share them
};

struct RecordedLink {
  explicit RecordedLink(std::size_t most)
      : busy(most), queue(most), paused(BinKind::kShare, most), stalled(BinKind::kShare, most) {}
  BusyIntervals busy;
  // Of these, time counts from RecordingSettings::from.
  QueueMeter queue;
  TimeBins paused;
  TimeBins stalled;
};

struct RecordedRow {
  RunLayout layout;
  std::vector<ObservedTransfer> transfers;
  std::vector<ObservedOperation> operations;
  std::vector<RecordedLink> links;  // by number; those that are not watched stay empty
  std::int64_t end = 0;
  bool finished = false;
  std::int64_t left_out = 0;         // transfers and operations, for want of room
  std::int64_t complete_until = -1;  // those that were over after that; -1: none are left out
  std::int64_t bin_width = 0;        // of all series
};

// Events of the trace that one slice can become: analysis/trace_json.h.
inline constexpr std::int64_t kEventsOfTransfer = 6;

class RunRecorder final : public RunObserver {
 public:
  explicit RunRecorder(RecordingSettings settings);

  const RecordingSettings& settings() const { return settings_; }
  const std::vector<RecordedRow>& rows() const { return rows_; }
  bool keeps(Rank rank) const { return !settings_.ranks || settings_.ranks->count(rank) > 0; }

  bool watches(const ObservedLink& link) const override;
  void on_row(const RunLayout& layout) override;
  void on_transfer(const ObservedTransfer& transfer) override;
  void on_operation(const ObservedOperation& operation) override;
  void on_service(const ObservedService& service) override;
  void on_queued(std::int32_t link, std::int64_t time, Bytes wire) override;
  void on_hold(std::int32_t link, HoldCause cause, std::int64_t since, std::int64_t until) override;
  void on_row_end(std::int64_t end, bool finished) override;

 private:
  RecordedRow& row() { return rows_.back(); }
  RecordedLink& link(std::int32_t number) { return row().links[static_cast<std::size_t>(number)]; }
  bool within(std::int64_t start, std::int64_t end) const {
    return end >= settings_.from && start < settings_.until;
  }
  // Time since `from`, and no later than `until`.
  std::int64_t clipped(std::int64_t time) const;
  bool has_room(std::int64_t events, std::int64_t now);

  RecordingSettings settings_;
  std::vector<RecordedRow> rows_;
  std::int64_t room_ = 0;  // events, of the row
};

}  // namespace gradhaul
