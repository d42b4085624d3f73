#pragma once

// How the ranks of a sweep that mpirun or srun started find each other, and what those but rank 0
// do.

#include <atomic>
#include <optional>

#include "backends/bootstrap/rendezvous.h"
#include "scenarios/command_context.h"
#include "scenarios/sweep_plan.h"

namespace gradhaul {

// How many points at once: as asked; else one for each rank of a launcher, or one for each core
// that this process may use.
int jobs_of(const SweepOptions& options);

// Of rank 0: where the others join; nothing where it was not launched with others. Throws
// ConfigError: nobody says where to meet. Throws ExchangeError: that place is taken.
std::optional<RankReception> reception_of(const SweepOptions& options);

// Of another rank: computes what rank 0 hands out. The exit status.
int help_sweep(const SweepOptions& options, const CommandContext& context,
               const std::atomic<bool>& interrupted);

}  // namespace gradhaul
