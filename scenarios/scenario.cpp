#include "scenarios/scenario.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "core/channel_groups.h"
#include "core/placement.h"
#include "core/topology_size.h"
#include "scenarios/annotations.h"
#include "scenarios/background_reader.h"
#include "scenarios/cluster_reader.h"
#include "scenarios/communication_reader.h"
#include "scenarios/job_reader.h"
#include "scenarios/references.h"
#include "scenarios/settings.h"
#include "scenarios/sha256.h"
#include "scenarios/training_reader.h"
#include "scenarios/workload_reader.h"

namespace gradhaul {
namespace {

void require(MappingReader& reader, std::string_view key, std::string_view example) {
  if (!reader.has(key) && !reader.broken()) {
    reader.report(key, fmt::format("\"{}\" is missing, as {}", key, example));
  }
}

// The fluid model has room for so many flows.
void check_flows(MappingReader& reader, const Scenario& scenario) {
  const Collective collective = scenario.workload.collective;
  const Algorithm algorithm = scenario.communication.algorithm;
  Cluster cluster = scenario.cluster;
  std::int64_t flows =
      grouped_connections(1, cluster.ranks(), collective, algorithm, cluster.ranks_per_node);
  if (flows <= kMostGroupedConnections) {
    if (cluster.nodes > 1) {
      cluster.network.topology =
          size_topology(cluster.network, cluster.nodes, cluster.node.nic_count).topology;
    }
    const Placement placement = place(cluster, scenario.communication, collective);
    const std::size_t groups = channel_groups(placement, cluster).size();
    flows =
        grouped_connections(groups, cluster.ranks(), collective, algorithm, cluster.ranks_per_node);
  }
  if (flows <= kMostGroupedConnections) return;
  reader.report("fidelity",
                fmt::format("flow carries no more than {} flows from rank to rank, here "
                            "{} or more: use analytic, or fewer nodes or channels",
                            kMostGroupedConnections, flows));
}

// `understood`: everything else has been read without a mistake.
void read_simulation(MappingReader reader, bool understood, Scenario& scenario) {
  scenario.fidelity = static_cast<Fidelity>(reader.choice(
      "fidelity",
      {.otherwise = {"packet"}, .available = {"packet", "flow", "analytic"}, .unavailable = {}}));
  scenario.seed = static_cast<std::uint64_t>(
      reader.count("seed", {.otherwise = {"1"},
                            .least = 0,
                            .most = std::numeric_limits<std::int64_t>::max(),
                            .words = {}}));
  if (understood && scenario.fidelity == Fidelity::kFlow) check_flows(reader, scenario);
  reader.finish();
}

void read_cluster_into(MappingReader& reader, Scenario& scenario, const Cluster*& understood) {
  require(reader, "cluster", "cluster: {nodes: 4, node: hgx-h100, network: ndr-rails}");
  if (!reader.has("cluster")) {
    reader.raw("cluster");
    return;
  }
  MappingReader cluster = reader.mapping("cluster");
  ReadCluster read = read_cluster(cluster);
  scenario.cluster = std::move(read.cluster);
  if (read.whole) understood = &scenario.cluster;
}

void read_workload_into(MappingReader& workload, Scenario& scenario) {
  const std::size_t before = workload.problems().size();
  scenario.training_step = read_training_step(workload);
  if (!scenario.training_step) {
    scenario.workload = read_workload(workload, scenario.notes);
  } else if (workload.problems().size() == before) {
    scenario.workload = workload_of(*scenario.training_step);
  }
}

bool lists_any(const MappingReader& reader, std::string_view key) {
  return reader.has(key) && reader.node()->find(key)->kind == TreeNode::Kind::kSequence &&
         !reader.node()->find(key)->children.empty();
}

// Who else is in the cluster. `understood`: everything else has been read without a mistake.
void read_company(MappingReader& reader, bool understood, Scenario& scenario) {
  if (!understood) {
    reader.raw("jobs");
    reader.raw("background");
    return;
  }
  scenario.jobs = read_jobs(reader, scenario.cluster, scenario.seed, scenario.notes);
  scenario.background = read_background(reader, scenario.cluster);
  if (scenario.training_step && !scenario.jobs.empty()) {
    reader.report("jobs",
                  "jobs: beside a training step no jobs are available in this version; keep "
                  "one of them");
  }
  // What is said of a scenario is said of its last row.
  if (!scenario.jobs.empty()) scenario.workload = scenario.jobs.back().workload;
  if (!reader.problems().empty() || scenario.fidelity == Fidelity::kPacket) return;
  for (const char* key : {"jobs", "background"}) {
    if (!lists_any(reader, key)) continue;
    reader.report_together({"simulation.fidelity", key},
                           fmt::format("{}: only fidelity packet simulates several of them beside "
                                       "each other",
                                       key));
  }
}

// Reads the cluster before the communication plan, which it bounds, but shows it after it.
void read_whole(const TreeNode& tree, Scenario& scenario, Problems& problems) {
  const Location top{scenario.file, 1, 1};
  MappingReader reader(&tree, top, scenario.filled, problems, "a scenario");
  const std::string stem = std::filesystem::path(scenario.file).stem().string();
  scenario.name = reader.text("scenario", {stem});
  scenario.question = reader.text("question", {""});
  const bool jobs = lists_any(reader, "jobs");
  if (!jobs) require(reader, "workload", "workload: {collective: all_reduce, size: 1GiB}");
  std::optional<MappingReader> workload;
  if (reader.has("workload")) {
    workload.emplace(reader.mapping("workload"));
    read_workload_into(*workload, scenario);
  } else {
    reader.raw("workload");
  }
  MappingReader expect = reader.mapping("expect");
  scenario.expectations = read_expectations(expect);
  if (scenario.training_step && !scenario.expectations.empty()) {
    reader.report("expect",
                  "expect: of a training step nothing can be expected in this version; leave it "
                  "empty");
  }
  const Cluster* understood = nullptr;
  read_cluster_into(reader, scenario, understood);
  if (scenario.training_step && understood != nullptr && problems.empty()) {
    check_training_step(*workload, *scenario.training_step, *understood, scenario.notes);
  }
  MappingReader communication = reader.mapping("communication");
  scenario.communication = read_communication(communication, scenario.workload, understood);
  auto& shown = scenario.filled.children;
  if (reader.has("cluster")) {
    shown.splice(shown.end(), shown, std::prev(shown.end(), 2));
  }
  const bool whole = understood != nullptr && problems.empty();
  read_simulation(reader.mapping("simulation"), whole, scenario);
  read_company(reader, whole && problems.empty(), scenario);
  reader.finish();
}

// A result file repeats the scenario that it answers: that one is meant. Anything else is itself.
void unwrap_result(TreeNode& tree, const Location& whole, Problems& problems) {
  const TreeNode* schema = tree.find("schema");
  if (schema == nullptr || !schema->text.starts_with("gradhaul.result/")) return;
  TreeNode* effective = tree.find_path("scenario.effective");
  if (effective == nullptr || effective->kind != TreeNode::Kind::kMapping) {
    problems.add(whole, "a result file that does not hold its scenario (scenario.effective)");
    return;
  }
  TreeNode scenario = std::move(*effective);
  scenario.key.clear();
  tree = std::move(scenario);
}

}  // namespace

PredictionRequest request_of(const Scenario& scenario) {
  PredictionRequest request;
  request.cluster = scenario.cluster;
  request.workload = scenario.workload;
  request.communication = scenario.communication;
  request.jobs = scenario.jobs;
  request.background = scenario.background;
  request.fidelity = scenario.fidelity;
  request.seed = scenario.seed;
  return request;
}

Scenario read_scenario(const ScenarioRequest& request) {
  Problems problems;
  Scenario scenario;
  const Library library(request.library);
  const auto path = library.find_scenario(request.scenario, problems);
  if (path) {
    scenario.file = path->string();
    const Location whole{scenario.file, 0, 0};
    const auto text = read_file(*path, whole, problems);
    auto tree = text ? parse_document(*text, scenario.file, problems) : std::nullopt;
    if (tree) {
      scenario.sha256 = sha256(*text);
      unwrap_result(*tree, whole, problems);
      annotate(*tree, problems);
      apply_settings(*tree, request.settings, library, problems);
      library.resolve_all(*tree, problems);
      read_whole(*tree, scenario, problems);
    }
  }
  if (!problems.empty()) throw ConfigError(problems.sorted());
  return scenario;
}

}  // namespace gradhaul
