#include "sim/predict.h"

#include "sim/analytic_prediction.h"
#include "sim/chosen_prediction.h"
#include "sim/flow_prediction.h"
#include "sim/goal_prediction.h"
#include "sim/job_prediction.h"
#include "sim/packet_prediction.h"
#include "sim/plan_choice.h"
#include "sim/sized_cluster.h"
#include "sim/tuner_prediction.h"

namespace gradhaul {
namespace {

// With a sized topology, and nothing left to choose but for NCCL's tuner.
Prediction predict_plan(const PredictionRequest& request) {
  switch (request.fidelity) {
    case Fidelity::kPacket:
      break;
    case Fidelity::kFlow:
      return predict_flows(request);
    case Fidelity::kAnalytic:
      return predict_analytically(request);
    case Fidelity::kNcclTuner:
      return predict_by_tuner(request);
  }
  return predict_packets(request);
}

}  // namespace

Prediction predict(const PredictionRequest& request) {
  PredictionRequest sized = request;
  sized.cluster = with_sized_topology(request.cluster);
  if (request.goal) return predict_goal(sized);
  if (!request.jobs.empty() || !request.background.empty()) return predict_jobs(sized);
  const bool tuned = request.fidelity == Fidelity::kNcclTuner;
  if (!tuned && chooses_plan(sized)) return predict_chosen(sized, predict_plan);
  return predict_plan(sized);
}

}  // namespace gradhaul
