#pragma once

// What doctor does beyond one host: raw bandwidth between all pairs of nodes, and rings of more and
// more of them, each beside what a scenario predicts.

#include <string>

#include "scenarios/command_context.h"
#include "scenarios/measure_options.h"

namespace gradhaul {

struct DoctorRanksOptions {
  MeasureOptions measure;  // who runs, over what, beside which scenario; no backend: nothing is run
  std::string tolerance = "10%";
  std::string host;  // HostTold::record() of this rank's host, for rank 0
};

// What was found on the other hosts is printed too. The exit status: 3 where one is slower than
// that, or a host has a problem.
int run_doctor_ranks(const DoctorRanksOptions& options, const CommandContext& context);

}  // namespace gradhaul
