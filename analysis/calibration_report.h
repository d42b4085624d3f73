#pragma once

// A calibration (core/calibration.h) as a table and as JSON.

#include <optional>
#include <string>
#include <vector>

#include "core/calibration.h"

namespace gradhaul {

// What was measured where.
struct CalibrationRecord {
  std::string date;  // "2026-11-30 18:45 UTC"
  std::string host;
  std::string backend;
  Calibration found;
  // What the model gives of the same once it is told these values, as `found.samples`; nothing: it
  // knows of no such thing by itself.
  std::vector<std::optional<Duration>> modelled;
  std::vector<std::string> notes;
};

// A line for each sample.
std::string calibration_text(const CalibrationRecord& record, const std::string& version);
// Schema "gradhaul.calibration/1": kind "measured", version, date, host, backend, engine (facts of
// the endpoint); samples (what, size_bytes, queue_pairs, depth, median_us, low_us, high_us: the
// tenth and nine tenths of the repetitions; repetitions, GBps, modelled_us or null); notes.
std::string calibration_json(const CalibrationRecord& record, const std::string& version);

// "write latency", "write stream", "registration", "reduction", "copy", "ring slice".
std::string_view words_of(CalibrationKind kind);

}  // namespace gradhaul
