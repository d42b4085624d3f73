#pragma once

// What came out of one point of a sweep, and the text in which it travels between processes and is
// kept in a journal: one line of JSON.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gradhaul {

// What a table needs of a row of the point's result.
struct SweepRow {
  std::int64_t size_bytes = 0;
  double time_us = 0;
  double algbw_GBps = 0;
  double busbw_GBps = 0;
  std::string limited_by;
  // As of ResultRow.
  double cpu_cores = 0;
  std::int64_t gpu_sms = 0;
  std::int64_t queue_pairs_per_nic = 0;
  std::int64_t registered_bytes = 0;
  double setup_us = 0;
};

struct SweepOutcome {
  std::string key;  // of what was run: a hash of scenario and version; empty: it could not be read
  std::string error;               // why there is no result; empty: there is one
  nlohmann::ordered_json result;   // as in a result file, without scenario and cost
  std::vector<std::string> csv;    // its rows' first columns: csv_line(), step_csv_line()
  std::vector<std::string> unmet;  // expectations that do not hold, a sentence each
  double cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;

  bool done() const { return error.empty(); }
  std::vector<SweepRow> rows() const;
};

SweepOutcome outcome_of(const Prediction& prediction, const std::string& version);

// Without a line end. Reading gives nothing where the text is no outcome.
std::string outcome_text(const SweepOutcome& outcome);
std::optional<SweepOutcome> outcome_of_text(std::string_view text);

}  // namespace gradhaul
