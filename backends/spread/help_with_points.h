#pragma once

// Another rank of a sweep: computes the points that rank 0 hands to it.

#include <atomic>
#include <string>

#include "backends/bootstrap/record_link.h"
#include "backends/spread/point_processes.h"
#include "backends/spread/spread_records.h"

namespace gradhaul {

enum class HelpEnd : std::uint8_t {
  kOver,         // nothing is left to do
  kSentAway,     // `why`
  kHostGone,     // rank 0 ended, or its host
  kInterrupted,  // this rank alone
};

struct HelpReport {
  HelpEnd end = HelpEnd::kOver;
  std::string why;
};

// `link`: to rank 0, which has welcomed this rank.
HelpReport help_with_points(RecordLink link, const PointWorker& self, PointWork work,
                            const std::atomic<bool>& interrupted);

}  // namespace gradhaul
