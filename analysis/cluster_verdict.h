#pragma once

// What ranks measured between hosts beside what a scenario predicts: each pair of nodes, and rings
// of more and more nodes, pass or fail.

#include <string>
#include <vector>

#include "analysis/pair_matrix.h"
#include "core/quantities.h"

namespace gradhaul {

struct RingVerdict {
  int nodes = 2;
  Bytes size;
  Duration measured;
  Duration predicted;
};

struct ClusterVerdict {
  PairMatrix pairs;  // with what is predicted of them
  std::vector<RingVerdict> rings;
  double tolerance = 0.1;  // passes: no longer than the predicted time and this share of it
  std::vector<std::string> notes;

  bool passes(Duration measured, Duration predicted) const;
  bool all_pass() const;
};

// A line for each ring and pair; of more than 64 pairs only for those that fail.
std::string cluster_verdict_text(const ClusterVerdict& verdict);
// Schema "gradhaul.cluster_check/1": kind "measured", version, scenario, backend, tolerance,
// size_bytes of a pair's writes; pairs (nic, from, to, measured_us, predicted_us, pass), rings
// (nodes, size_bytes, measured_us, predicted_us, pass), pass, notes.
std::string cluster_verdict_json(const ClusterVerdict& verdict, const std::string& version);

}  // namespace gradhaul
