#include "sim/analytic_prediction.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/placement.h"
#include "sim/analytic_bracket.h"
#include "sim/analytic_path.h"
#include "sim/link_digest.h"
#include "sim/load_report.h"
#include "sim/prediction_row.h"
#include "sim/run_cost.h"

namespace gradhaul {
namespace {

std::string microseconds(Duration time) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f us", time.microseconds());
  return text;
}

// What the rows' brackets say, in a line for all of them.
class BracketNote {
 public:
  void add(const AnalyticBracket& bracket, Duration launch, Bytes size) {
    const Duration time = launch + bracket.estimate;
    const double share = static_cast<double>(bracket.error().ps) / static_cast<double>(time.ps);
    if (rows_++ > 0 && share <= worst_) return;
    worst_ = share;
    size_ = size;
    least_ = launch + bracket.lower;
    most_ = launch + bracket.upper;
    pcie_ = bracket.shares_pcie;
    wires_ = bracket.meets_twice;
  }
  std::string text() const {
    std::string note = "closed forms, nothing simulated: ";
    if (rows_ > 1) note += "for " + std::to_string(size_.count) + " B, the least certain, ";
    note += "between " + microseconds(least_) + " and " + microseconds(most_);
    if (pcie_) note += ", since several share PCIe links beyond their switches";
    if (wires_) note += ", since pairs meet on several links of the network, one after the other";
    return note;
  }

 private:
  int rows_ = 0;
  double worst_ = 0;
  Bytes size_;
  Duration least_;
  Duration most_;
  bool pcie_ = false;
  bool wires_ = false;
};

class AnalyticRows {
 public:
  AnalyticRows(const PredictionRequest& request, Prediction& prediction)
      : request_(request),
        prediction_(prediction),
        fabric_(request.cluster),
        placement_(place(request.cluster, request.communication, request.workload.collective)),
        latency_(fabric_, placement_.ranks_per_node, request.communication) {
    show_placement(placement_, prediction);
  }

  void add(Bytes size) {
    const std::int64_t count = size.count / size_of(request_.workload.datatype).count;
    SlotBound slots(request_, placement_, latency_);
    const ResourceLoad load = count_load(request_, fabric_, placement_, count, &slots);
    const std::unique_ptr<Schedule> chunks = chunk_schedule(request_, placement_, count);
    const CollectiveChain chain = longest_chain(request_, placement_, *chunks, latency_);
    const AnalyticBracket bracket = bracket_of(request_, load, chain, slots, latency_);
    const std::vector<TracePart> path = analytic_path(load, chain, slots, bracket, latency_);
    const Duration launch = request_.cluster.node.gpu.kernel_launch;
    ResultRow row = prediction_row(request_, placement_.channels, size);
    row.time = launch + bracket.estimate;
    add_row(load, path, std::move(row), prediction_);
    const Duration error = std::max(prediction_.error_bound.value_or(Duration{}), bracket.error());
    prediction_.error_bound = error;
    note_.add(bracket, launch, size);
    digest(load, bracket);
  }
  void finish() {
    prediction_.digest = digest_.value();
    if (!prediction_.rows.empty()) prediction_.notes.push_back(note_.text());
  }

 private:
  void digest(const ResourceLoad& load, const AnalyticBracket& bracket) {
    add_to_digest(load, digest_);
    for (const Duration time : {bracket.load, bracket.chain, bracket.slots, bracket.lower,
                                bracket.estimate, bracket.upper}) {
      digest_.add(static_cast<std::uint64_t>(time.ps));
    }
  }

  const PredictionRequest& request_;
  Prediction& prediction_;
  Fabric fabric_;
  Placement placement_;
  HopLatency latency_;
  RunDigest digest_;
  BracketNote note_;
};

}  // namespace

Prediction predict_analytically(const PredictionRequest& request) {
  const RunCostMeter meter;
  Prediction prediction;
  prediction.fidelity = "analytic";
  prediction.seed = request.seed;
  prediction.exact = false;
  AnalyticRows rows(request, prediction);
  const std::vector<Bytes>& sizes = request.workload.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (request.interrupted != nullptr && request.interrupted->load()) {
      prediction.interrupted = true;
      break;
    }
    const Bytes size = whole_elements(request, sizes[i]);
    rows.add(size);
    if (request.progress != nullptr) {
      request.progress->on_progress(static_cast<double>(i + 1) / static_cast<double>(sizes.size()),
                                    size);
    }
  }
  rows.finish();
  meter.measure(prediction.cost);
  return prediction;
}

}  // namespace gradhaul
