#pragma once

// Writes between all pairs of nodes as a matrix, and who is suspect in it: a node most of whose
// writes are slow, a rail or a leaf whose are, and single pairs beside. Slow is measured against
// the upper quartile: where one of four nodes is bad, half of all pairs are, and of three nodes
// more.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/pair_time.h"
#include "core/quantities.h"

namespace gradhaul {

struct PairMatrix {
  std::string scenario;  // its name
  std::string backend;
  int nodes = 2;
  PairSettings settings;
  std::vector<PairTime> times;
  // What the scenario predicts of one way, as `times`; empty: nothing is. Links being full duplex,
  // it is the same of each way of both.
  std::vector<Duration> predicted;
  // leaves[nic][node]; empty: not known, or all at one.
  std::vector<std::vector<int>> leaves;
  double tolerance = kSlowPair;
  std::vector<std::string> notes;

  // Bytes a second, one way.
  double bandwidth(const PairTime& time) const;
  double both_ways(const PairTime& time) const;  // each way
  double median() const;                         // of one way
  double upper_quartile() const;                 // likewise: a quarter reaches as much
  const PairTime& worst() const;
};

enum class SuspectKind : std::uint8_t { kRail, kNode, kSender, kReceiver, kLeaf, kPair };

struct Suspect {
  SuspectKind kind = SuspectKind::kPair;
  int nic = -1;    // -1: of all NICs
  int node = -1;   // of kPair, who sends
  int other = -1;  // of kPair, who receives
  int leaf = -1;
  double share = 0;        // the median of its slow bandwidths, of the upper quartile of all
  bool both_ways = false;  // only when both ways go at once
};

// Of one way, then of both ways at once; of each the widest first; what a wider one explains, or
// one way for both, is not told again. One is suspect where at least three quarters of its writes
// are slow, and at least two.
std::vector<Suspect> suspects_of(const PairMatrix& matrix);
std::string sentence_of(const Suspect& suspect);

// One matrix for each NIC: GB/s from the node of the row to that of the column.
std::string pair_matrix_text(const PairMatrix& matrix, const std::string& version);
// Schema "gradhaul.pairs/1": kind "measured", version, scenario, backend, nodes, nics, memory
// ("host", "gpu": at both ends), size_bytes (each way), tolerance; pairs (nic, from, to,
// one_way_us, one_way_GBps, both_ways_us, both_ways_GBps of each way, repeats, predicted_us or
// null, ratio and both_ways_ratio of predicted_us or null); median_GBps, upper_quartile_GBps, worst
// (nic, from, to, GBps); suspects (kind, nic, node, other, leaf: null where it has none; both_ways,
// share, text); notes.
std::string pair_matrix_json(const PairMatrix& matrix, const std::string& version);

}  // namespace gradhaul
