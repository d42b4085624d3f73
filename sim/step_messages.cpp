#include "sim/step_messages.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string>

#include "core/projected_cluster.h"
#include "core/step_communication.h"
#include "core/step_run.h"
#include "sim/link_digest.h"
#include "sim/predict.h"
#include "sim/run_watch.h"

namespace gradhaul {
namespace {

// The number that follows `word` in a name, as 3 in "node3.nic1"; -1: there is none.
int number_after(const std::string& name, const std::string& word) {
  const std::size_t at = name.find(word);
  int number = -1;
  if (at == std::string::npos) return number;
  const char* const first = name.data() + at + word.size();
  std::from_chars(first, name.data() + name.size(), number);
  return number;
}

std::string renumbered(std::string name, const std::string& word, const std::vector<int>& numbers) {
  const int number = number_after(name, word);
  if (number < 0 || number >= static_cast<int>(numbers.size())) return name;
  const std::size_t at = name.find(word) + word.size();
  const std::string from = std::to_string(number);
  return name.replace(at, from.size(), std::to_string(numbers[static_cast<std::size_t>(number)]));
}

// What a resource of the cluster that a group sees is called in the whole one; empty: of the
// network's switches, which are others there.
std::string name_in_whole(const std::string& name, const ProjectedCluster& projected) {
  if (!name.starts_with("node")) return "";
  return renumbered(renumbered(renumbered(name, "node", projected.nodes), ".gpu", projected.gpus),
                    ".nic", projected.nics);
}

// Each message of a plan in its turn.
class MessagePredictions {
 public:
  MessagePredictions(const PredictionRequest& request, StepPrediction& result)
      : request_(request), result_(result) {}

  // False where it was interrupted.
  bool add(const StepTraffic& traffic) {
    const StepPlan& plan = result_.outcome.plan;
    Uses uses;
    Prediction first;
    for (const auto& group : parallel_groups(plan.layout, traffic.groups, traffic.stage)) {
      const ProjectedCluster projected = seen_by(group);
      // The groups of a kind are alike.
      if (first.rows.empty()) first = predict_in(projected.cluster, traffic);
      if (first.interrupted) return false;
      for (const ResourceUse& use : first.resources) {
        const std::string name = name_in_whole(use.name, projected);
        if (name.empty() || use.utilisation == 0) continue;
        ResourceUse& sum =
            uses.try_emplace(name, ResourceUse{name, use.kind, 0, {}, {}}).first->second;
        sum.utilisation += use.utilisation;
        sum.bytes += use.bytes;
      }
    }
    take(traffic, first, std::move(uses));
    return true;
  }

  const std::vector<TrafficTime>& times() const { return times_; }

  void add_resources(Duration step) {
    std::vector<std::int64_t> sent(times_.size());
    for (const StepOperation& operation : result_.outcome.plan.operations) {
      if (operation.traffic >= 0) ++sent[static_cast<std::size_t>(operation.traffic)];
    }
    Uses all;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      const double share = static_cast<double>(sent[i] * result_.prediction.rows[i].time.ps) /
                           static_cast<double>(std::max<std::int64_t>(step.ps, 1));
      for (const auto& [name, use] : uses_[i]) {
        ResourceUse& sum =
            all.try_emplace(name, ResourceUse{name, use.kind, 0, {}, {}}).first->second;
        sum.utilisation += use.utilisation * share;
        sum.bytes += use.bytes * sent[i];
      }
    }
    for (auto& [name, use] : all) result_.prediction.resources.push_back(std::move(use));
  }

 private:
  using Uses = std::map<std::string, ResourceUse>;

  ProjectedCluster seen_by(const std::vector<Rank>& group) const {
    std::vector<int> gpus;
    for (const Rank rank : group) gpus.push_back(request_.cluster.gpu_of(rank));
    auto projected = project(request_.cluster, gpus);
    if (!projected) {
      throw SimulationError(
          "ranks of a group are not on the same GPUs of each of their nodes: this is only in "
          "simulation.fidelity packet");
    }
    const Node& node = request_.cluster.node;
    if (static_cast<int>(projected->gpus.size()) == node.gpu_count) {
      // Whole nodes, as they are.
      projected->cluster.node = node;
      projected->nics.resize(static_cast<std::size_t>(node.nic_count));
      std::iota(projected->nics.begin(), projected->nics.end(), 0);
    } else if (node.pcie.empty()) {
      throw SimulationError(
          "a group has some of the GPUs of nodes without PCIe: this is only in "
          "simulation.fidelity packet");
    }
    return std::move(*projected);
  }

  Prediction predict_in(const Cluster& cluster, const StepTraffic& traffic) const {
    PredictionRequest alone = request_;
    alone.cluster = cluster;
    const Cluster& whole = request_.cluster;
    if (cluster.nodes != whole.nodes || cluster.node.nic_count != whole.node.nic_count) {
      Topology& topology = alone.cluster.network.topology;
      topology.leaves = topology.spines = topology.uplinks_per_leaf = 0;
    }
    alone.workload = {};
    alone.workload.collective = traffic.collective;
    alone.workload.datatype = traffic.datatype;
    alone.workload.sizes = {traffic.size};
    alone.progress = nullptr;
    alone.communication =
        communication_in_group(request_.communication, traffic.collective, cluster, whole.ranks());
    return predict(alone);
  }

  void take(const StepTraffic& traffic, const Prediction& first, Uses uses) {
    Prediction& prediction = result_.prediction;
    const Duration alone = first.rows.at(0).time;
    double most = 1;
    for (const auto& [name, use] : uses) most = std::max(most, use.utilisation);
    TrafficTime time{alone, first.channels, {}};
    if (most > 1) {
      time.alone = {static_cast<std::int64_t>(static_cast<double>(alone.ps) * most)};
    }
    for (const auto& [name, use] : uses) {
      const auto number = static_cast<int>(numbers_.size());
      time.uses.emplace_back(numbers_.try_emplace(name, number).first->second,
                             use.utilisation / most);
    }
    times_.push_back(std::move(time));
    uses_.push_back(std::move(uses));
    digest_.add(first.digest);
    prediction.digest = digest_.value();
    prediction.rows.push_back(first.rows[0]);
    prediction.channels = std::max(prediction.channels, first.channels);
    if (traffic.groups == GroupKind::kData || prediction.rings.empty()) {
      prediction.rings = first.rings;
    }
  }

  const PredictionRequest& request_;
  StepPrediction& result_;
  std::vector<TrafficTime> times_;
  std::vector<Uses> uses_;  // of all groups, by message
  std::map<std::string, int> numbers_;
  RunDigest digest_;
};

}  // namespace

void run_step_messages(const PredictionRequest& request, const TrainingStep& step,
                       StepPrediction& result) {
  const RunWatch watch(request);
  StepOutcome& outcome = result.outcome;
  result.prediction.fidelity = request.fidelity == Fidelity::kFlow ? "flow" : "analytic";
  result.prediction.exact = false;
  MessagePredictions messages(request, result);
  const std::size_t count = outcome.plan.traffics.size();
  for (std::size_t i = 0; i < count; ++i) {
    const StepTraffic& traffic = outcome.plan.traffics[i];
    const double done = static_cast<double>(i) / static_cast<double>(count);
    if (!watch.keep_going(0, done, traffic.size) || !messages.add(traffic)) {
      result.prediction.interrupted = true;
      return;
    }
  }
  const int processors = step.shared_processors ? request.cluster.node.gpu.multiprocessors : 0;
  outcome.intervals = run_step(outcome.plan, messages.times(),
                               {processors, [&](double) { return !watch.interrupted(); }});
  if (outcome.intervals.empty() && !outcome.plan.operations.empty()) {
    result.prediction.interrupted = true;
    return;
  }
  for (const StepInterval& interval : outcome.intervals) {
    outcome.time = std::max(outcome.time, interval.end);
  }
  messages.add_resources(outcome.time);
  result.prediction.notes.push_back(
      "each message was predicted by itself, and those under way together share what they use in "
      "their nodes evenly; simulation.fidelity packet runs all of it in one cluster");
}

}  // namespace gradhaul
