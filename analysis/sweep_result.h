#pragma once

// A sweep and what it answers: as a table, as a file of schema "gradhaul.sweep/1", as rows of CSV.
// All but `cost` is the same whoever computed which point, and when.

#include <optional>
#include <string>
#include <vector>

#include "analysis/result_json.h"
#include "analysis/sweep_outcome.h"

namespace gradhaul {

struct SweepAxisRecord {
  std::string path;
  std::vector<std::string> values;
};

struct SweepPoint {
  std::vector<std::string> values;      // one for each axis
  std::optional<SweepOutcome> outcome;  // nothing: interrupted before
};

struct SweepCost {
  double wall_s = 0;
  double cpu_s = 0;                 // of all points, also those that were known from before
  std::int64_t peak_rss_bytes = 0;  // of the largest
  std::size_t known_points = 0;     // kept by an earlier run
};

struct SweepResult {
  ScenarioRecord scenario;
  std::string question;
  std::vector<std::string> settings;  // --set of the scenario, PATH=VALUE
  std::string version;
  std::vector<SweepAxisRecord> axes;
  std::vector<SweepPoint> points;  // all combinations, the last axis first
  bool interrupted = false;
  SweepCost cost;
};

// A head, a line for each row of each point, and which point came out best.
std::string sweep_table(const SweepResult& sweep);

// One sentence for each error, with the points that have it; in the order of points.
std::vector<std::string> sweep_errors(const SweepResult& sweep);

// A point on each line.
std::string sweep_json_text(const SweepResult& sweep);

// Columns for the axes, then those of a result's rows, the last of which is the profile; only
// points with a result.
std::string sweep_csv(const SweepResult& sweep);

// "cluster.nodes=4, workload.size=1MiB"
std::string point_name(const SweepResult& sweep, const SweepPoint& point);

}  // namespace gradhaul
