#pragma once

// gradhaul explain: where the time of a run went, what limits it and what would help, in words that
// need no knowledge of the program; and the same as JSON, schema "gradhaul.explanation/1".

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/result_json.h"
#include "analysis/run_description.h"
#include "analysis/run_difference.h"
#include "core/cluster.h"
#include "core/result.h"

namespace gradhaul {

// One thing made better, and the run again.
struct TriedChange {
  std::string change;                 // "NVLink of 900GB/s instead of 450GB/s"
  std::vector<std::string> settings;  // PATH=VALUE, as for --set
  std::string obstacle;               // why there is no run: a clause; else empty
  std::string command;                // shows the same
  Duration time;
  std::string limited_by;   // then
  double limiting_use = 0;  // its utilisation; 0: limited by no resource
  int channels = 0;
  std::uint64_t digest = 0;
  std::optional<PartDifference> grown;  // of a run that takes longer: what grew most on the path
};

// What grew most, where a change makes a run slower by so much that explanations say so.
std::optional<PartDifference> grown_part(const ResultRow& before, const ResultRow& after);

struct Explanation {
  RunDescription run;
  Prediction prediction;           // its last row is explained; it has one
  std::optional<Cluster> cluster;  // nothing: a result of a cluster that is not known
  bool stages = false;             // some data passes host memory
  std::string command;             // what `gradhaul predict` needs to show that row; may be empty
  std::vector<TriedChange> changes;
  std::string untried;       // why there are no changes: a sentence; else empty
  bool interrupted = false;  // there may be more changes that were not tried
};

std::string explanation_text(const Explanation& explanation);
nlohmann::ordered_json explanation_json(const Explanation& explanation,
                                        const ScenarioRecord& scenario);

// The parts of a row by resource alone: what each, or each group of one shape, is blamed for. The
// largest first.
struct ResourceBlame {
  std::string resources;  // "node*.nic*"; empty: no resource's
  int resource_count = 0;
  Duration time;
};
std::vector<ResourceBlame> blame_of_resources(const ResultRow& row);

}  // namespace gradhaul
