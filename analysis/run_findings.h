#pragma once

// What a log says of the real run that the prediction has otherwise, in words, each with the line
// it was seen on. Nothing is concluded from what a log does not say.

#include <string>
#include <vector>

#include "analysis/compared_run.h"

namespace gradhaul {

struct RunFinding {
  // Where it lies: "network", "GPU to NIC", "within a node", "NICs", "algorithm", "channels",
  // "rings"; empty: a setting or a warning, quoted.
  std::string layer;
  std::string text;
};

// Those that cost most first.
std::vector<RunFinding> findings_of(const ComparedRun& predicted, const ComparedRun& measured);

}  // namespace gradhaul
