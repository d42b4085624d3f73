#pragma once

// What a simulated run consists of before it starts: who does what, over which wiring, and of which
// ranks the others are copies.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/collective_engine.h"
#include "core/placement.h"
#include "core/prediction_request.h"
#include "core/schedule.h"
#include "sim/station_plan.h"
#include "sim/symmetry.h"
#include "sim/wiring.h"

namespace gradhaul {

// Whether the ranks' programs reach the collective at the same time: only then can one rank stand
// for others.
enum class Starts : std::uint8_t { kTogether, kApart };

struct WorldPlan {
  std::unique_ptr<Schedule> schedule;
  EngineSettings settings;
  bool recurs = false;           // what comes back to a state goes on from it as it did before
  Symmetry symmetry;             // none where nothing may be skipped or starts are apart
  Wiring wiring;                 // of the ranks that are simulated
  std::vector<Rank> simulated;   // ascending
  bool misses_contexts = false;  // may_miss_contexts() of all ranks' wiring
  // Where stations step what they can; then nothing is marked or paused, or the run is begun anew.
  std::optional<StationPlan> stations;
};

// Throws SimulationError.
WorldPlan plan_world(const PredictionRequest& request, const Fabric& fabric,
                     const Placement& placement, std::int64_t count, Starts starts);

}  // namespace gradhaul
