#include "sim/tuner_prediction.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/collective_algorithms.h"
#include "core/nccl_tuner.h"
#include "core/protocol.h"
#include "sim/link_digest.h"
#include "sim/plan_ranges.h"
#include "sim/prediction_row.h"
#include "sim/run_cost.h"

namespace gradhaul {
namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

std::string graph_text(const NcclGraph& graph, int nodes) {
  return std::to_string(graph.channels) + " of " + number(nodes <= 2 ? graph.intra : graph.inter) +
         " GB/s";
}

WeighedPlan plan_of(const NcclEstimate& estimate) {
  return {std::string(nccl_algorithm_name(estimate.algorithm)),
          std::string(protocol_name(estimate.protocol)), estimate.channels, estimate.time};
}

class TunerRows {
 public:
  explicit TunerRows(const PredictionRequest& request)
      : request_(request),
        version_(nccl_version_of(request.communication.profile)),
        run_(nccl_run(request.cluster, request.workload, version_)),
        tuner_(run_) {}

  ResultRow row(Bytes size) const {
    std::vector<NcclEstimate> estimates = tuner_.estimates(size);
    std::erase_if(estimates, [this](const NcclEstimate& one) { return !asked_for(one); });
    if (estimates.empty()) {
      throw SimulationError("NCCL " + std::string(version_text(version_)) +
                            " has no such algorithm and protocol here");
    }
    const NcclEstimate& best = estimates.front();
    ResultRow row = prediction_row(request_, best.channels, size);
    for (const NcclEstimate& estimate : estimates) row.weighed.push_back(plan_of(estimate));
    row.algorithm = row.weighed.front().algorithm;
    row.protocol = row.weighed.front().protocol;
    row.time = best.time;
    const Duration latency{
        std::min<std::int64_t>(best.time.ps, std::llround(best.latency_us * 1e6))};
    const Duration moving = best.time - latency;
    row.limited_by = latency > moving ? "latency" : "bandwidth";
    row.parts = {{"", "latency", latency}, {"", "busy", moving}};
    std::stable_sort(row.parts.begin(), row.parts.end(),
                     [](const TimePart& a, const TimePart& b) { return a.time > b.time; });
    std::erase_if(row.parts, [](const TimePart& part) { return part.time.ps == 0; });
    return row;
  }

  std::vector<std::string> notes(const std::vector<ResultRow>& rows) const {
    const std::string name = "NCCL " + std::string(version_text(version_));
    const bool latest = request_.communication.profile.rfind("nccl-", 0) != 0;
    std::vector<std::string> notes{
        name + (latest ? " (communication.profile: nccl-2.22 for 2.22)" : "") +
        " estimates this by planning constants of its own, nothing is simulated. Its search would "
        "find these channels: " +
        graph_text(run_.graphs.ring, run_.nodes) + " for rings" +
        (request_.workload.collective == Collective::kAllReduce
             ? ", " + graph_text(run_.graphs.tree, run_.nodes) + " for trees"
             : "")};
    if (const std::string held = held_to(); !held.empty()) notes.push_back(held);
    const PlanOfRow taken = [](const ResultRow& row) { return row.weighed.front(); };
    if (rows.size() > 1) notes.push_back(name + " would take " + plan_ranges(rows, taken));
    add_switch_note(rows, taken, notes);
    if (run_.nodes > 1 && request_.cluster.network.kind == NetworkKind::kInfiniband) {
      notes.emplace_back(
          "reductions in the network's switches (SHARP, CollNet) are left out: NCCL uses them with "
          "a plugin and NCCL_COLLNET_ENABLE=1 only");
    }
    return notes;
  }

 private:
  // "held to ring, …": what of the choice was not left to NCCL.
  std::string held_to() const {
    const Communication& plan = request_.communication;
    std::string what;
    std::string keys;
    if (!plan.choose_algorithm) {
      what = name_of(plan.algorithm);
      keys = "communication.algorithm: auto";
    }
    if (!plan.choose_protocol) {
      what += (what.empty() ? "" : " and ") + std::string(protocol_name(plan.protocol));
      keys += (keys.empty() ? "" : ", ") + std::string("communication.protocol: auto");
    }
    if (what.empty()) return "";
    return "held to " + what + ", as by NCCL_ALGO and NCCL_PROTO; " + keys + " leaves it to NCCL";
  }
  bool asked_for(const NcclEstimate& estimate) const {
    const Communication& plan = request_.communication;
    const bool algorithm =
        plan.choose_algorithm || nccl_algorithm_name(estimate.algorithm) == name_of(plan.algorithm);
    return algorithm && (plan.choose_protocol || estimate.protocol == plan.protocol);
  }

  const PredictionRequest& request_;
  NcclVersion version_;
  NcclRun run_;
  NcclTuner tuner_;
};

}  // namespace

Prediction predict_by_tuner(const PredictionRequest& request) {
  const RunCostMeter meter;
  Prediction prediction;
  prediction.fidelity = "nccl-tuner";
  prediction.seed = request.seed;
  prediction.exact = false;
  const TunerRows rows(request);
  RunDigest digest;
  for (const Bytes asked : request.workload.sizes) {
    if (request.interrupted != nullptr && request.interrupted->load()) {
      prediction.interrupted = true;
      break;
    }
    prediction.rows.push_back(rows.row(whole_elements(request, asked)));
    digest.add(static_cast<std::uint64_t>(prediction.rows.back().time.ps));
    prediction.channels = prediction.rows.back().channels;
  }
  prediction.digest = digest.value();
  prediction.notes = rows.notes(prediction.rows);
  meter.measure(prediction.cost);
  return prediction;
}

}  // namespace gradhaul
