#include "scenarios/doctor_ranks_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/cluster_verdict.h"
#include "scenarios/doctor_command.h"
#include "scenarios/exit_status.h"
#include "scenarios/guarded_command.h"
#include "scenarios/measure_backends_command.h"
#include "scenarios/measure_plan.h"
#include "scenarios/pairs_command.h"
#include "scenarios/quantity.h"
#include "scenarios/result_files_command.h"
#include "sim/predict.h"

namespace gradhaul {
namespace {

double tolerance_of(const std::string& text) {
  if (text.ends_with('%')) {
    const Parsed<double> percent = parse_real(text.substr(0, text.size() - 1));
    if (percent.value && *percent.value >= 0 && *percent.value <= 1000) return *percent.value / 100;
  }
  refuse("--tolerance " + text, "no percentage from 0% to 1000%, as 10% or 2.5%");
}

// Rings of one node, where that has several ranks, of two, four and so on, and of all.
std::vector<int> node_counts(const Cluster& cluster) {
  std::vector<int> counts;
  for (int nodes = cluster.ranks_per_node > 1 ? 1 : 2; nodes < cluster.nodes; nodes *= 2) {
    counts.push_back(nodes);
  }
  counts.push_back(cluster.nodes);
  return counts;
}

// The scenario with that many of its nodes, as a plain ring of its last size.
std::optional<Scenario> scenario_of(const MeasurePlan& plan, const MeasureOptions& options,
                                    int nodes, const CommandContext& context) {
  ScenarioRequest request{options.scenario, options.settings, context.library};
  request.settings.push_back(fmt::format("cluster.nodes={}", nodes));
  request.settings.push_back(
      fmt::format("cluster.ranks_per_node={}", plan.scenario.cluster.ranks_per_node));
  try {
    Scenario scenario = read_scenario(request);
    scenario.workload.sizes = {scenario.workload.sizes.back()};
    return scenario;
  } catch (const ConfigError&) {
    // What it says of its network may be for another number.
    return std::nullopt;
  }
}

struct Rings {
  std::vector<Scenario> scenarios;
  std::vector<std::string> notes;
};

Rings rings_of(const MeasurePlan& plan, const MeasureOptions& options,
               const CommandContext& context) {
  Rings rings;
  for (const int nodes : node_counts(plan.scenario.cluster)) {
    auto scenario = scenario_of(plan, options, nodes, context);
    if (scenario) {
      rings.scenarios.push_back(std::move(*scenario));
    } else {
      rings.notes.push_back(
          fmt::format("no ring of {} nodes: the scenario cannot have that many", nodes));
    }
  }
  return rings;
}

void require_plain(const MeasurePlan& plan) {
  const Communication& communication = plan.scenario.communication;
  if (plan.scenario.workload.collective == Collective::kAllReduce &&
      communication.algorithm == Algorithm::kRing && communication.protocol == Protocol::kSimple &&
      !communication.choose_algorithm && !communication.choose_protocol) {
    return;
  }
  refuse(plan.scenario.file,
         "doctor runs rings of all_reduce with protocol simple; --set "
         "workload.collective=all_reduce, communication.algorithm=ring and "
         "communication.protocol=simple make it one");
}

// Of each host what the first of its ranks that looked has found, the host of rank 0 first.
std::vector<HostVerdict> hosts_of(const std::vector<std::string>& records) {
  std::vector<HostVerdict> hosts;
  std::vector<std::string> identities;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const auto told = HostTold::of_record(records[rank]);
    if (!told) continue;
    const auto place = std::find(identities.begin(), identities.end(), told->identity);
    const auto number = static_cast<std::size_t>(place - identities.begin());
    if (place == identities.end()) {
      identities.push_back(told->identity);
      hosts.emplace_back().host = told->host;
    }
    HostVerdict& host = hosts[number];
    host.ranks.push_back(static_cast<int>(rank));
    if (!told->looked || !host.json.empty()) continue;
    host.findings = told->findings;
    host.json = told->json;
    host.problem = told->problem;
  }
  return hosts;
}

int judge(const Measurement& measurement, bool speaks, const MeasureOptions& options) {
  if (!measurement.failures.empty()) {
    if (speaks || !options.started_by_measure) {
      complain(fmt::format("the run failed: {}", measurement.failures.front()));
    }
    return kRunFailed;
  }
  if (measurement.interrupted) {
    if (speaks) complain("interrupted; nothing of the ranks is kept");
    return kInterrupted;
  }
  return kDone;
}

int examine(const DoctorRanksOptions& options, const CommandContext& context) {
  const MeasureOptions& measure = options.measure;
  if (measure.scenario.empty()) {
    refuse("--backend",
           "doctor lays what ranks measure beside a scenario; name one, as in "
           "gradhaul doctor quick --backend tcp --ranks 4");
  }
  const double tolerance = tolerance_of(options.tolerance);
  MeasurePlan plan = plan_of(measure, context);
  require_plain(plan);
  const bool speaks = plan.rank == 0;
  if (speaks) check_result_files({measure.json, ""});
  plan.pairs = pair_settings(plan, measure);
  const Rings rings = rings_of(plan, measure, context);
  for (const Scenario& ring : rings.scenarios) {
    plan.rings.push_back({ring.cluster, ring.communication, ring.workload});
  }
  plan.host = options.host;
  MeasuredAside aside;
  const Measurement measurement = measure_with_backend(measure, plan, aside);
  if (const int status = judge(measurement, speaks, measure); status != kDone || !speaks) {
    return status;
  }
  ClusterVerdict verdict;
  verdict.hosts = hosts_of(aside.hosts);
  verdict.pairs = predicted_pairs(plan, *plan.pairs, aside.pairs, measurement.backend);
  verdict.tolerance = tolerance;
  for (std::size_t i = 0; i < rings.scenarios.size(); ++i) {
    const Scenario& ring = rings.scenarios[i];
    const Prediction prediction = predict(request_of(ring));
    verdict.rings.push_back({ring.cluster.nodes, ring.workload.sizes.back(), aside.rings[i],
                             prediction.rows.front().time});
  }
  verdict.notes = plan.notes;
  verdict.notes.insert(verdict.notes.end(), rings.notes.begin(), rings.notes.end());
  verdict.notes.insert(verdict.notes.end(), measurement.notes.begin(), measurement.notes.end());
  // Rank 0 has told of its own host at length.
  const std::vector<HostVerdict> others(verdict.hosts.begin() + (verdict.hosts.empty() ? 0 : 1),
                                        verdict.hosts.end());
  const bool printed = print(hosts_text(others) + cluster_verdict_text(verdict));
  if (!printed) complain("standard output could not be written");
  const auto text = [&] { return cluster_verdict_json(verdict, context.version); };
  if (!write_texts({measure.json, ""}, text, text) || !printed) return kRunFailed;
  const bool problem = std::any_of(verdict.hosts.begin(), verdict.hosts.end(),
                                   [](const HostVerdict& host) { return host.problem; });
  return verdict.all_pass() && !problem ? kDone : kOutsideExpectation;
}

}  // namespace

int run_doctor_ranks(const DoctorRanksOptions& options, const CommandContext& context) {
  return guarded_ranks(options.measure,
                       [&] { return guarded([&] { return examine(options, context); }); });
}

}  // namespace gradhaul
