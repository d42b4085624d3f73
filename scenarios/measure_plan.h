#pragma once

// What a measure was asked: read, checked, and ready for whoever runs the ranks.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/calibration.h"
#include "core/pair_time.h"
#include "core/ring_time.h"
#include "scenarios/command_context.h"
#include "scenarios/measure_options.h"
#include "scenarios/scenario.h"

namespace gradhaul {

// Who starts the ranks.
enum class RankStart : std::uint8_t {
  kThisProcess,  // all of them on this host
  kByHand,       // --rank
  kLauncher,     // mpirun, srun
};

struct MeasurePlan {
  Scenario scenario;
  RankStart start = RankStart::kThisProcess;
  int rank = 0;
  int ranks = 2;
  std::string rendezvous;  // empty: rank 0 chooses, since it starts the others
  std::string token;       // of the rendezvous
  std::chrono::nanoseconds timeout{};
  std::vector<std::string> notes;
  std::optional<PairSettings> pairs;               // instead of the collective
  std::vector<RingSettings> rings;                 // after the pairs
  std::optional<CalibrationSettings> calibration;  // likewise
  std::string host;  // what this rank tells the others of its host; empty: nobody tells
  // Where plans are chosen: for each size its own.
  std::vector<Communication> chosen;
  // What must be the same on all ranks.
  std::vector<std::pair<std::string, std::string>> agreed;
};

// Throws ConfigError.
MeasurePlan plan_of(const MeasureOptions& options, const CommandContext& context);

}  // namespace gradhaul
