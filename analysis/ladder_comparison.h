#pragma once

// A predicted ladder beside a measured one, rung beside rung: so that a gap is put to the layer at
// which it arises, and not to what only stands on it.

#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison.h"
#include "analysis/ladder_file.h"

namespace gradhaul {

struct ComparedRung {
  LadderRow predicted;
  LadderRow measured;
  double time_ratio = 0;  // measured / predicted; 0 where either is missing
  Verdict verdict = Verdict::kUnjudged;
};

// Of one size: the lowest rung that is outside the tolerance with the judged one below it inside,
// or with none judged below.
struct LadderGap {
  Bytes size;
  Rung rung = Rung::kLink;
  std::optional<Rung> below;  // the judged one, which is inside
  Verdict verdict = Verdict::kSlower;
};

struct LadderComparison {
  std::string predicted;  // the files
  std::string measured;
  std::string predicted_profile;  // empty: its file does not say
  std::string measured_profile;
  double tolerance = 0.1;
  std::vector<ComparedRung> rungs;  // by size, then from below
  std::vector<LadderGap> gaps;      // of sizes that have one

  std::size_t judged() const;
  std::size_t outside() const;
};

// Throws Incomparable: not a predicted and a measured one, no size of both, or rungs that carry
// different bytes.
LadderComparison compare_ladders(const Ladder& predicted, const Ladder& measured, double tolerance);

// "the gap arises at: ring step (slower; pair, host memory is within the tolerance)".
std::string sentence_of(const LadderGap& gap);

std::string ladder_comparison_text(const LadderComparison& comparison, const std::string& version);
// Schema "gradhaul.ladder_comparison/1": predicted, measured (files), predicted_profile,
// measured_profile, tolerance, rungs (rung, size_bytes, carried_bytes, predicted_us, measured_us,
// time_ratio, verdict, missing), gaps (size_bytes, rung, below, verdict, text).
std::string ladder_comparison_json(const LadderComparison& comparison, const std::string& version);
// A line for each rung, under the names of the JSON's, and both profiles.
std::string ladder_comparison_csv(const LadderComparison& comparison);

}  // namespace gradhaul
