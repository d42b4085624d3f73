#include "sim/flow_prediction.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/placement.h"
#include "sim/analytic_bracket.h"
#include "sim/flow_solver.h"
#include "sim/link_digest.h"
#include "sim/load_report.h"
#include "sim/prediction_row.h"
#include "sim/run_cost.h"
#include "sim/run_watch.h"

namespace gradhaul {
namespace {

// What of the rows' steps was simulated, in a line for all of them: of the row with most left out.
class StepNote {
 public:
  void add(const FlowProgress& progress) {
    worst_error_ = std::max(worst_error_, progress.rounding_error());
    if (progress.simulated_steps() == progress.steps()) return;
    if (steps_ - simulated_ >= progress.steps() - progress.simulated_steps()) return;
    steps_ = progress.steps();
    simulated_ = progress.simulated_steps();
    period_ = progress.period();
  }
  std::string text() const {
    std::string note = "fluid flows of whole chunks, no packets";
    if (steps_ == 0) return note;
    char rounding[40];
    std::snprintf(rounding, sizeof rounding, "%.3g", static_cast<double>(worst_error_.ps) * 1e-3);
    note += "; " + std::to_string(simulated_) + " of " + std::to_string(steps_) +
            " steps were simulated, the rest recurs every " +
            (period_ == 1 ? std::string("step") : std::to_string(period_) + " steps") +
            " (rounding error up to " + rounding + " ns)";
    return note;
  }

 private:
  std::int64_t steps_ = 0;
  std::int64_t simulated_ = 0;
  std::int64_t period_ = 0;
  Duration worst_error_;
};

class FlowRows {
 public:
  FlowRows(const PredictionRequest& request, Prediction& prediction)
      : request_(request),
        prediction_(prediction),
        fabric_(request.cluster),
        placement_(place(request.cluster, request.communication, request.workload.collective)),
        latency_(fabric_, placement_.ranks_per_node, request.communication) {
    show_placement(placement_, prediction);
  }

  // False where it was interrupted.
  bool add(std::size_t row) {
    const Bytes size = whole_elements(request_, request_.workload.sizes[row]);
    const std::int64_t count = size.count / size_of(request_.workload.datatype).count;
    SlotBound slots(request_, placement_, latency_);
    const ResourceLoad load = count_load(request_, fabric_, placement_, count, &slots);
    const FlowPlan plan = make_flow_plan(request_, placement_, count, latency_);
    const FlowPaths paths = find_flow_paths(request_, placement_, plan, load);
    FlowBlame costs(plan, paths, fabric_, placement_.ranks_per_node, latency_);
    FlowProgress progress(plan, paths, costs, request_.skip_recurrences);
    if (!run_flows(plan, paths, progress,
                   [&] { return watch_.keep_going(row, progress.progress(), size); })) {
      return false;
    }
    take_row(load, slots, paths, progress, size, count);
    return true;
  }
  void finish() {
    prediction_.digest = digest_.value();
    if (!prediction_.rows.empty()) prediction_.notes.push_back(note_.text());
  }

 private:
  void take_row(const ResourceLoad& load, const SlotBound& slots, const FlowPaths& paths,
                const FlowProgress& progress, Bytes size, std::int64_t count) {
    const Duration launch = request_.cluster.node.gpu.kernel_launch;
    ResultRow row = prediction_row(request_, placement_.channels, size);
    // Turns of threads are no flows: no run is over before the one with most to do has had its own.
    const Duration turns{std::max<std::int64_t>(0, load.thread_time().ps - progress.end())};
    row.time = launch + Duration{progress.end()} + turns;
    std::vector<TracePart> path = progress.critical_path();
    path.push_back({kNoResource, Cause::kLaunch, launch.ps});
    path.push_back({kNoResource, Cause::kThread, turns.ps});
    std::erase_if(path, [](const TracePart& part) { return part.ps == 0; });
    const Duration error = error_of(load, slots, paths, progress, count);
    prediction_.error_bound = std::max(prediction_.error_bound.value_or(Duration{}), error);
    note_.add(progress);
    add_to_digest(load, digest_);
    digest_.add(progress.digest());
    add_row(load, path, std::move(row), prediction_);
  }
  // See the head of the header.
  Duration error_of(const ResourceLoad& load, const SlotBound& slots, const FlowPaths& paths,
                    const FlowProgress& progress, std::int64_t count) {
    const std::unique_ptr<Schedule> chunks = chunk_schedule(request_, placement_, count);
    const CollectiveChain chain = longest_chain(request_, placement_, *chunks, latency_);
    const AnalyticBracket bracket = bracket_of(request_, load, chain, slots, latency_);
    const Duration control{std::min(bracket.load, bracket.chain).ps / 32};
    const Duration upper = std::max(bracket.upper, bracket.chain + paths.queueing + control);
    const Duration time = std::max(Duration{progress.end()}, bracket.threads);
    return std::max({Duration{}, time - bracket.lower, upper - time}) + progress.rounding_error();
  }

  const PredictionRequest& request_;
  RunWatch watch_{request_};
  Prediction& prediction_;
  Fabric fabric_;
  Placement placement_;
  HopLatency latency_;
  RunDigest digest_;
  StepNote note_;
};

}  // namespace

Prediction predict_flows(const PredictionRequest& request) {
  const RunCostMeter meter;
  Prediction prediction;
  prediction.fidelity = "flow";
  prediction.seed = request.seed;
  prediction.exact = false;
  FlowRows rows(request, prediction);
  for (std::size_t i = 0; i < request.workload.sizes.size(); ++i) {
    if (RunWatch(request).interrupted() || !rows.add(i)) {
      prediction.interrupted = true;
      break;
    }
  }
  rows.finish();
  meter.measure(prediction.cost);
  return prediction;
}

}  // namespace gradhaul
