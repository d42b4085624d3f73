#include "sim/plan_choice.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/collective_algorithms.h"
#include "core/nccl_profile.h"
#include "core/nccl_tuner.h"
#include "core/protocol.h"
#include "sim/analytic_prediction.h"
#include "sim/flow_prediction.h"
#include "sim/plan_ranges.h"
#include "sim/prediction_row.h"
#include "sim/sized_cluster.h"

namespace gradhaul {
namespace {

std::vector<Communication> ways_of(const PredictionRequest& request) {
  std::vector<Algorithm> algorithms{request.communication.algorithm};
  if (request.communication.choose_algorithm) {
    algorithms.clear();
    for (const Algorithm algorithm : algorithms_of(request.workload.collective)) {
      if (has_levels(algorithm, request.cluster)) algorithms.push_back(algorithm);
    }
  }
  std::vector<Protocol> protocols{request.communication.protocol};
  if (request.communication.choose_protocol) {
    protocols = {Protocol::kSimple, Protocol::kLl, Protocol::kLl128};
  }
  std::vector<Communication> ways;
  for (const Algorithm algorithm : algorithms) {
    for (const Protocol protocol : protocols) {
      Communication& way = ways.emplace_back(with_protocol(request.communication, protocol));
      way.algorithm = algorithm;
      way.choose_algorithm = false;
    }
  }
  return ways;
}

ResultRow estimate(const PredictionRequest& request, const Communication& way, Bytes size) {
  PredictionRequest one = request;
  one.communication = way;
  one.workload.sizes = {size};
  one.progress = nullptr;
  const Prediction prediction =
      request.fidelity == Fidelity::kFlow ? predict_flows(one) : predict_analytically(one);
  return prediction.rows.empty() ? ResultRow{} : prediction.rows.front();
}

std::string microseconds(Duration time) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f us", time.microseconds());
  return text;
}

std::string others_of(const ResultRow& row) {
  std::string text;
  for (std::size_t i = 1; i < row.weighed.size(); ++i) {
    text +=
        (i == 1 ? "" : ", ") + plan_text(row.weighed[i]) + " " + microseconds(row.weighed[i].time);
  }
  return text;
}

// As NCCL would, by its own estimates.
std::vector<PlanWay> nccl_ways(const PredictionRequest& request, Bytes size) {
  const NcclVersion version = nccl_version_of(request.communication.profile);
  const NcclTuner tuner(nccl_run(request.cluster, request.workload, version));
  std::vector<PlanWay> ways;
  for (const NcclEstimate& estimate : tuner.estimates(size)) {
    if (!is_plan_for(estimate, request.communication)) continue;
    const Communication plan = nccl_plan(request.communication, estimate);
    ways.push_back(
        {plan,
         {std::string(name_of(plan.algorithm)), std::string(protocol_name(plan.protocol)),
          plan.channels.value_or(estimate.channels), estimate.time}});
  }
  if (ways.empty()) {
    throw SimulationError("NCCL " + std::string(version_text(version)) +
                          " has no such algorithm and protocol here");
  }
  return ways;
}

}  // namespace

bool chooses_plan(const PredictionRequest& request) {
  if (is_nccl_profile(request.communication.profile))
    return nccl_tunes(request.workload.collective);
  return ways_of(request).size() > 1;
}

std::vector<std::vector<PlanWay>> weigh_plans(const PredictionRequest& request) {
  PredictionRequest whole = request;
  whole.cluster = with_sized_topology(request.cluster);
  const std::vector<Communication> ways = ways_of(whole);
  const bool by_nccl = is_nccl_profile(whole.communication.profile);
  std::vector<std::vector<PlanWay>> all;
  for (const Bytes asked : whole.workload.sizes) {
    if (by_nccl) {
      all.push_back(nccl_ways(whole, whole_elements(whole, asked)));
      continue;
    }
    std::vector<PlanWay>& weighed = all.emplace_back();
    for (const Communication& way : ways) {
      if (request.interrupted != nullptr && request.interrupted->load()) break;
      const ResultRow row = estimate(whole, way, whole_elements(whole, asked));
      if (row.ranks == 0) break;
      weighed.push_back({way, {row.algorithm, row.protocol, row.channels, row.time}});
    }
    if (weighed.size() < ways.size()) {
      all.pop_back();
      break;
    }
    std::stable_sort(weighed.begin(), weighed.end(), [](const PlanWay& a, const PlanWay& b) {
      return a.weighed.time < b.weighed.time;
    });
  }
  return all;
}

std::optional<NcclChoice> nccl_choice(const PredictionRequest& request, Bytes size) {
  const bool known = request.cluster.node.gpu.compute_capability > 0;
  if (!known || !nccl_tunes(request.workload.collective)) return std::nullopt;
  const NcclVersion version = nccl_version_of(request.communication.profile);
  const NcclTuner tuner(nccl_run(request.cluster, request.workload, version));
  const NcclEstimate best = tuner.estimates(size).front();
  return NcclChoice{std::string(version_text(version)),
                    {std::string(nccl_algorithm_name(best.algorithm)),
                     std::string(protocol_name(best.protocol)), best.channels, best.time}};
}

std::vector<std::string> choice_notes(const PredictionRequest& request,
                                      const std::vector<ResultRow>& rows) {
  std::vector<std::string> notes;
  if (rows.empty() || rows.back().weighed.empty()) return notes;
  const ResultRow& last = rows.back();
  const std::string& profile = request.communication.profile;
  const std::string whose = is_nccl_profile(profile) ? "NCCL's own estimates (" + profile + ")"
                            : request.fidelity == Fidelity::kFlow ? "estimates by flows"
                                                                  : "closed-form estimates";
  notes.push_back("chosen by " + whose + ": " +
                  plan_ranges(rows, [](const ResultRow& row) { return row.weighed.front(); }));
  if (last.weighed.size() > 1) {
    notes.push_back("estimates for " + size_text(last.size) + ": " +
                    plan_text(last.weighed.front()) + " " +
                    microseconds(last.weighed.front().time) + ", " + others_of(last));
  }
  if (!last.nccl) return notes;
  notes.push_back("NCCL " + last.nccl->version + " would take " +
                  plan_ranges(rows, [](const ResultRow& row) { return row.nccl->plan; }) +
                  "; for " + size_text(last.size) + " it expects " +
                  microseconds(last.nccl->plan.time));
  add_switch_note(
      rows, [](const ResultRow& row) { return row.nccl->plan; }, notes);
  return notes;
}

}  // namespace gradhaul
