#pragma once

// Counters of ports, predicted beside measured, under the names of the result file.

#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison.h"
#include "core/result.h"

namespace gradhaul {

struct ComparedCounter {
  std::string port;  // empty: the sum over all ports, where the two sides name none alike
  std::string name;  // "xmit_wait_us"
  // Nothing: the model, or the ports, have no such counter.
  std::optional<double> predicted;
  std::optional<double> measured;
};

// Those that are not zero on both sides; by port where both sides have it, those of other ports
// summed. Empty where one of the sides has no counters. Where `measured` was counted by real ports,
// the names are theirs (PortCounters::as_on_host).
std::vector<ComparedCounter> compare_counters(const std::vector<PortCounters>& predicted,
                                              const std::vector<PortCounters>& measured);

// The counters of one row of a comparison, of one collective: where ports counted several, their
// mean.
struct RowCounterComparison {
  const ComparedPair* pair = nullptr;  // nothing: no row has counters on both sides
  std::vector<ComparedCounter> counters;
};
RowCounterComparison compare_counters(const Comparison& comparison, const ComparedPair& pair);
// Of the worst row, or else of the last that has any.
RowCounterComparison compare_counters(const Comparison& comparison);

}  // namespace gradhaul
