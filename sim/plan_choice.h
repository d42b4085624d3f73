#pragma once

// `auto`: for each size the plan that takes least time by a cheap prediction, of all algorithms
// that the collective has. A pure function of the request, so that all ranks of a measured run take
// the same. Where flows are asked for, flows decide; else the closed forms do; and in a profile of
// NCCL, NCCL's tuner.

#include <optional>
#include <string>
#include <vector>

#include "core/prediction_request.h"
#include "core/result.h"

namespace gradhaul {

struct PlanWay {
  Communication communication;  // with nothing left to choose
  WeighedPlan weighed;
};

// Whether anything is left to choose.
bool chooses_plan(const PredictionRequest& request);

// For each size of the workload, the fastest first; equals in the order of core's lists. Topologies
// need not be sized. Fewer sizes where the request was interrupted. Throws SimulationError.
std::vector<std::vector<PlanWay>> weigh_plans(const PredictionRequest& request);

// What of NCCL's tuner is known for a size: nothing where it has no choice for the collective, or
// the GPU's compute capability is not known. Requires a sized or single-switch topology.
std::optional<NcclChoice> nccl_choice(const PredictionRequest& request, Bytes size);

// What was chosen for which sizes, and what NCCL would have taken: a line for each. Rows of one
// run, each with what was weighed for it.
std::vector<std::string> choice_notes(const PredictionRequest& request,
                                      const std::vector<ResultRow>& rows);

}  // namespace gradhaul
