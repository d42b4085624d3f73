#pragma once

// A prediction beside a measurement: rows of equal size are laid side by side and judged; what has
// to agree first (collective, ranks) is required, what may differ (data type, algorithm, protocol,
// channels) is named.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/compared_run.h"
#include "analysis/run_findings.h"

namespace gradhaul {

enum class Verdict : std::uint8_t {
  kWithin,
  kSlower,    // than the tolerance allows
  kFaster,    // likewise
  kWrong,     // the measured result was not what it should be
  kUnjudged,  // the two numbers mean different things; `remark` says why
};

struct ComparedPair {
  ComparedRow predicted;
  ComparedRow measured;
  int repeats = 1;        // so many rows were measured; this is their median
  double time_ratio = 0;  // measured / predicted; that of algbw is its inverse
  std::optional<double> busbw_ratio;
  Verdict verdict = Verdict::kWithin;
  std::string remark;
};

struct Comparison {
  ComparedRun predicted;
  ComparedRun measured;
  double tolerance = 0.1;           // of 1: a time may be off by so much of the predicted one
  std::vector<ComparedPair> pairs;  // by size; out of place first
  std::vector<std::int64_t> only_predicted;  // sizes
  std::vector<std::int64_t> only_measured;
  std::vector<std::string> notes;
  std::vector<RunFinding> findings;

  std::size_t sizes() const;   // in pairs
  std::size_t judged() const;  // pairs
  std::size_t outside() const;
  // Of the judged pairs: the one whose ratio is farthest from 1 (as a factor, either way).
  std::optional<std::size_t> worst() const;
  double median_ratio() const;  // of times
};

// what(): why no comparison makes sense, each reason on a line.
class Incomparable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Incomparable.
Comparison compare(ComparedRun predicted, ComparedRun measured, double tolerance);

std::string_view name_of(Verdict verdict);  // "within", "slower", …

}  // namespace gradhaul
