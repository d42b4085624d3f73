#include "sim/chosen_prediction.h"

#include <algorithm>
#include <utility>

#include "sim/link_digest.h"
#include "sim/plan_choice.h"

namespace gradhaul {
namespace {

// Several runs told as one.
class ProgressOfPart final : public ProgressSink {
 public:
  ProgressOfPart(ProgressSink* all, std::size_t before, std::size_t part, std::size_t whole)
      : all_(all), before_(before), part_(part), whole_(whole) {}
  void on_progress(double done, Bytes row) override {
    if (all_ == nullptr) return;
    const double rows = static_cast<double>(before_) + done * static_cast<double>(part_);
    all_->on_progress(rows / static_cast<double>(whole_), row);
  }

 private:
  ProgressSink* all_;
  std::size_t before_;
  std::size_t part_;
  std::size_t whole_;
};

bool same_plan(const PlanWay& a, const PlanWay& b) {
  return a.communication.algorithm == b.communication.algorithm &&
         a.communication.protocol == b.communication.protocol &&
         a.communication.channels == b.communication.channels;
}

void add_cost(const RunCost& part, RunCost& whole) {
  whole.wall_s += part.wall_s;
  whole.cpu_s += part.cpu_s;
  whole.packets += part.packets;
  whole.packet_hops += part.packet_hops;
  whole.skipped_packet_hops += part.skipped_packet_hops;
  whole.equal_parts = part.equal_parts;
  whole.peak_rss_bytes = std::max(whole.peak_rss_bytes, part.peak_rss_bytes);
}

void add_notes(const std::vector<std::string>& part, std::vector<std::string>& whole) {
  for (const std::string& note : part) {
    if (std::find(whole.begin(), whole.end(), note) == whole.end()) whole.push_back(note);
  }
}

bool may_go_on(const Prediction& prediction) {
  return !prediction.interrupted && prediction.failure.empty();
}

// What is of the last row is the later part's.
void join(Prediction part, Prediction& whole) {
  if (part.rows.empty() && !part.failure.empty()) {
    whole.failure = std::move(part.failure);
    return add_cost(part.cost, whole.cost);
  }
  RunCost cost = whole.cost;
  add_cost(part.cost, cost);
  std::vector<std::string> notes = std::move(whole.notes);
  add_notes(part.notes, notes);
  std::vector<ResultRow> rows = std::move(whole.rows);
  rows.insert(rows.end(), part.rows.begin(), part.rows.end());
  if (whole.error_bound && part.error_bound) {
    part.error_bound = std::max(*whole.error_bound, *part.error_bound);
  }
  part.exact = part.exact && whole.exact;
  whole = std::move(part);
  whole.cost = cost;
  whole.notes = std::move(notes);
  whole.rows = std::move(rows);
}

}  // namespace

Prediction predict_chosen(const PredictionRequest& request,
                          const std::function<Prediction(const PredictionRequest&)>& run) {
  const std::vector<std::vector<PlanWay>> weighed = weigh_plans(request);
  Prediction whole;
  RunDigest digests;
  std::size_t runs = 0;
  for (std::size_t first = 0; first < weighed.size() && may_go_on(whole);) {
    std::size_t end = first + 1;
    while (end < weighed.size() && same_plan(weighed[first].front(), weighed[end].front())) ++end;
    PredictionRequest part = request;
    part.communication = weighed[first].front().communication;
    part.workload.sizes.assign(request.workload.sizes.begin() + static_cast<std::ptrdiff_t>(first),
                               request.workload.sizes.begin() + static_cast<std::ptrdiff_t>(end));
    ProgressOfPart progress(request.progress, first, end - first, weighed.size());
    part.progress = &progress;
    Prediction predicted = run(part);
    for (std::size_t i = 0; i < predicted.rows.size(); ++i) {
      ResultRow& row = predicted.rows[i];
      for (const PlanWay& way : weighed[first + i]) row.weighed.push_back(way.weighed);
      row.nccl = nccl_choice(request, row.size);
    }
    digests.add(predicted.digest);
    if (++runs == 1) {
      whole = std::move(predicted);
    } else {
      join(std::move(predicted), whole);
    }
    first = end;
  }
  if (runs == 0) {
    PredictionRequest none = request;
    none.workload.sizes.clear();
    whole = run(none);
  }
  // One run is the run of that plan.
  if (runs > 1) whole.digest = digests.value();
  whole.interrupted = whole.interrupted || weighed.size() < request.workload.sizes.size();
  add_notes(choice_notes(request, whole.rows), whole.notes);
  return whole;
}

}  // namespace gradhaul
