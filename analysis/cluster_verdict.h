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

// What ranks of one host found on it.
struct HostVerdict {
  std::string host;  // its name
  std::vector<int> ranks;
  std::string findings;  // for people
  std::string json;      // schema gradhaul.doctor/1; empty: nobody looked
  bool problem = false;
};

struct ClusterVerdict {
  std::vector<HostVerdict> hosts;
  PairMatrix pairs;  // with what is predicted of them
  std::vector<RingVerdict> rings;
  double tolerance = 0.1;  // passes: no longer than the predicted time and this share of it
  std::vector<std::string> notes;

  bool passes(Duration measured, Duration predicted) const;
  // One way and both ways at once, each way.
  bool pair_passes(std::size_t pair) const;
  bool all_pass() const;
};

// The findings of each host, hosts with the same ones together.
std::string hosts_text(const std::vector<HostVerdict>& hosts);
// A line for each ring and pair; of more than 64 pairs only for those that fail.
std::string cluster_verdict_text(const ClusterVerdict& verdict);
// Schema "gradhaul.cluster_check/1": kind "measured", version, scenario, backend, tolerance,
// size_bytes of a pair's writes; pairs (nic, from, to, measured_us, both_ways_us, predicted_us of
// either, one_way_pass, both_ways_pass, pass: both), rings (nodes, size_bytes, measured_us,
// predicted_us, pass), pass: pairs and rings; hosts (host, ranks, problem, checkup: as doctor
// --json writes it, or null), notes.
std::string cluster_verdict_json(const ClusterVerdict& verdict, const std::string& version);

}  // namespace gradhaul
