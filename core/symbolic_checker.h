#pragma once

// Proves a schedule without any data: the real engines of all ranks run it on symbols, in an order
// of completions of the caller's choice, and afterwards each element of each rank's output must
// hold exactly the contributions that the collective is about. On the way SymbolicWorld watches
// that no source is overwritten under a write, no slot used before its time, and nothing added
// twice; a run that stops short is reported with its stall table.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/symbolic_world.h"
#include "core/workload.h"

namespace gradhaul::oracle {

struct CheckSettings {
  SymbolicSettings world;
  Collective collective = Collective::kAllReduce;
  // Nothing: the oldest pending completion comes first. Else a random one does.
  std::optional<std::uint64_t> seed;
  // Completions of this kind come only when nothing else is left to come.
  std::optional<CompletionKind> starved;
};

struct CheckReport {
  std::vector<std::string> violations;
  std::vector<Bytes> bytes_sent;  // by rank
  std::int64_t completions = 0;

  bool ok() const { return violations.empty(); }
  Bytes total_bytes() const;
  std::string text() const;
};

CheckReport check_schedule(const Schedule& schedule, const CheckSettings& settings);

// What an element of a rank's output must hold in the end.
Symbol expected_symbol(const Schedule& schedule, const CheckSettings& settings, Rank rank,
                       std::int64_t element);
// Where in its output it has its result; what is elsewhere does not count.
Span expected_span(const Schedule& schedule, const CheckSettings& settings, Rank rank);
// Adds what differs from that, and what is not at rest.
void check_result(SymbolicWorld& world, const Schedule& schedule, const CheckSettings& settings);

}  // namespace gradhaul::oracle
