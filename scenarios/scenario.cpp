#include "scenarios/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/channel_groups.h"
#include "core/collective_algorithms.h"
#include "core/nccl_profile.h"
#include "core/placement.h"
#include "scenarios/annotations.h"
#include "scenarios/answered_scenario.h"
#include "scenarios/background_reader.h"
#include "scenarios/cluster_reader.h"
#include "scenarios/communication_reader.h"
#include "scenarios/goal_reader.h"
#include "scenarios/idle_keys.h"
#include "scenarios/job_reader.h"
#include "scenarios/listed_algorithm_reader.h"
#include "scenarios/lossy_network.h"
#include "scenarios/nic_limits_reader.h"
#include "scenarios/references.h"
#include "scenarios/settings.h"
#include "scenarios/sha256.h"
#include "scenarios/thread_placement_reader.h"
#include "scenarios/training_reader.h"
#include "scenarios/transport_reader.h"
#include "scenarios/workload_reader.h"

namespace gradhaul {
namespace {

void require(MappingReader& reader, std::string_view key, std::string_view example) {
  if (!reader.has(key) && !reader.broken()) {
    reader.report(key, fmt::format("\"{}\" is missing, as {}", key, example));
  }
}

std::int64_t flows_of(const Scenario& scenario, Algorithm algorithm) {
  const Collective collective = scenario.workload.collective;
  const Cluster& cluster = scenario.cluster;
  const std::int64_t flows =
      grouped_connections(1, cluster.ranks(), collective, algorithm, cluster.ranks_per_node);
  if (flows > kMostGroupedConnections) return flows;
  Communication communication = scenario.communication;
  communication.algorithm = algorithm;
  const Placement placement = place(cluster, communication, collective);
  const std::size_t groups = channel_groups(placement, cluster).size();
  return grouped_connections(groups, cluster.ranks(), collective, algorithm,
                             cluster.ranks_per_node);
}

// The fluid model has room for so many flows.
void check_flows(MappingReader& reader, const Scenario& scenario) {
  std::int64_t flows = flows_of(scenario, scenario.communication.algorithm);
  if (scenario.communication.choose_algorithm) {
    for (const Algorithm algorithm : algorithms_of(scenario.workload.collective)) {
      if (!has_levels(algorithm, scenario.cluster)) continue;
      flows = std::max(flows, flows_of(scenario, algorithm));
    }
  }
  if (flows <= kMostGroupedConnections) return;
  reader.report("fidelity",
                fmt::format("flow carries no more than {} flows from rank to rank, here "
                            "{} or more: use analytic, or fewer nodes or channels",
                            kMostGroupedConnections, flows));
}

// NCCL's tuner knows collectives by its formulas, and NCCL knows GPUs by their compute capability.
std::string tuner_problem(const Scenario& scenario, bool tunes) {
  if (tunes && !nccl_tunes(scenario.workload.collective)) {
    return "NCCL's tuner knows all_reduce, reduce_scatter, all_gather and broadcast; any other "
           "collective is sends and receives to NCCL, and there is nothing to choose";
  }
  if (scenario.cluster.node.gpu.compute_capability > 0) return "";
  return fmt::format(
      "NCCL's tuner takes its constants by the GPU's compute_capability, which {} does not say; "
      "add it to the model, as 9.0 for H100",
      scenario.cluster.node.gpu.name);
}

// `understood`: everything else has been read without a mistake.
void read_simulation(MappingReader reader, bool understood, Scenario& scenario) {
  scenario.fidelity = static_cast<Fidelity>(
      reader.choice("fidelity", {.otherwise = {"packet"},
                                 .available = {"packet", "flow", "analytic", "nccl-tuner"},
                                 .unavailable = {}}));
  scenario.seed = static_cast<std::uint64_t>(
      reader.count("seed", {.otherwise = {"1"},
                            .least = 0,
                            .most = std::numeric_limits<std::int64_t>::max(),
                            .words = {}}));
  if (scenario.communication.listed && scenario.fidelity != Fidelity::kPacket) {
    reader.report("fidelity", "fidelity: only packet runs an algorithm from a file");
    understood = false;
  }
  if (scenario.goal && scenario.fidelity != Fidelity::kPacket) {
    reader.report("fidelity", "fidelity: only packet runs a program (workload.goal)");
    understood = false;
  }
  if (understood && scenario.fidelity == Fidelity::kFlow) check_flows(reader, scenario);
  if (understood && scenario.fidelity == Fidelity::kNcclTuner) {
    if (const std::string problem = tuner_problem(scenario, true); !problem.empty()) {
      reader.report("fidelity", "nccl-tuner: " + problem);
    } else if (scenario.communication.gpudirect == GpuDirect::kOff) {
      reader.report("fidelity",
                    "nccl-tuner: its formulas know nothing of data that is staged; with gpudirect: "
                    "off use packet, flow or analytic");
    }
  }
  const std::string alone = what_packets_know(scenario.communication, scenario.cluster.node);
  if (understood && !alone.empty() && scenario.fidelity != Fidelity::kPacket) {
    reader.report("fidelity", fmt::format("fidelity: only packet knows of {}", alone));
  }
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
  scenario.notes.insert(scenario.notes.end(), read.notes.begin(), read.notes.end());
  if (read.whole) understood = &scenario.cluster;
}

FilledValue filled_of(const TreeNode& node) {
  FilledValue value;
  value.key = node.key;
  value.text = node.kind == TreeNode::Kind::kNull ? "null" : node.text;
  if (node.kind == TreeNode::Kind::kSequence) value.kind = FilledValue::Kind::kList;
  if (node.kind == TreeNode::Kind::kMapping) value.kind = FilledValue::Kind::kMapping;
  for (const TreeNode& child : node.children) value.children.push_back(filled_of(child));
  return value;
}

// Shown where it is written alone: a scenario without it is not a sweep of nothing.
void show_axes(MappingReader& reader, Scenario& scenario) {
  const TreeNode* const vary = reader.raw("vary");
  if (vary == nullptr) return;
  scenario.axes = axes_of_tree(*vary, reader.problems());
  FilledValue& shown = reader.record("vary", FilledValue::Kind::kMapping, "", vary);
  for (const SweepAxis& axis : scenario.axes) {
    FilledValue& values = shown.children.emplace_back();
    values.kind = FilledValue::Kind::kList;
    values.key = axis.path;
    values.origin = {false, axis.location, false, ""};
    for (const std::string& value : axis.values) {
      Problems none;
      const auto node = parse_option_value(value, axis.location, none);
      if (node) values.children.push_back(filled_of(*node));
    }
  }
  if (scenario.axes.empty()) return;
  scenario.notes.push_back(
      fmt::format("`vary` is for gradhaul sweep: this is the scenario as it stands, not its {} "
                  "points",
                  points_of(scenario.axes)));
}

// What it sends, and to whom, it says itself.
void read_goal_into(MappingReader& workload, Scenario& scenario) {
  scenario.goal = read_goal_file(workload, "goal");
  for (const char* key :
       {"collective", "size", "model", "datatype", "reduction", "training_step"}) {
    if (workload.has(key)) {
      workload.report(key, fmt::format("\"{}\" is of one collective, and \"goal\" names a program "
                                       "that says what is sent; keep one of them",
                                       key));
    }
    workload.raw(key);
  }
  workload.finish();
  scenario.workload.collective = Collective::kSendRecv;
  scenario.workload.datatype = DataType::kBf16;
  const Bytes sent = scenario.goal ? scenario.goal->bytes_sent_per_rank() : Bytes{};
  scenario.workload.sizes = {std::max(sent, size_of(DataType::kBf16))};
}

void read_workload_into(MappingReader& workload, Scenario& scenario) {
  const std::size_t before = workload.problems().size();
  if (workload.has("goal")) return read_goal_into(workload, scenario);
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

bool chooses(const Communication& communication) {
  return communication.choose_algorithm || communication.choose_protocol;
}

constexpr std::string_view kNothingToChoose =
    "algorithm and protocol are chosen (auto, and by profiles of NCCL unless they are given) where "
    "one collective has the cluster to itself; name them here";

// Who else is in the cluster. `understood`: everything else has been read without a mistake.
void read_company(MappingReader& reader, bool understood, Scenario& scenario) {
  if (!understood) {
    reader.raw("jobs");
    reader.raw("background");
    return;
  }
  for (const char* key : {"jobs", "background"}) {
    if (!scenario.goal || !lists_any(reader, key)) continue;
    reader.report(key,
                  fmt::format("{}: a program (workload.goal) has the cluster to itself in this "
                              "version",
                              key));
  }
  if (scenario.training_step && lists_any(reader, "jobs")) {
    reader.report("jobs",
                  "jobs: beside a training step no jobs are available in this version; keep one of "
                  "them");
  }
  scenario.jobs = read_jobs(reader, scenario.cluster, scenario.seed, scenario.notes);
  check_priorities(reader, scenario);
  scenario.background = read_background(reader, scenario.cluster);
  if (std::any_of(scenario.jobs.begin(), scenario.jobs.end(),
                  [](const Job& job) { return chooses(job.communication); })) {
    reader.report("jobs", fmt::format("jobs: {}", kNothingToChoose));
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

// What the plan is for.
void check_communication(MappingReader& communication, bool understood, Scenario& scenario) {
  if (understood && is_nccl_profile(scenario.communication.profile)) {
    if (const std::string problem = tuner_problem(scenario, false); !problem.empty()) {
      communication.report("profile", fmt::format("profile: {}", problem));
    }
  }
  if (scenario.communication.listed) {
    if (scenario.training_step) {
      communication.report("algorithm",
                           "algorithm: a file lists one collective of one number of ranks; a "
                           "training step has several, and takes an algorithm by its name");
    }
    fit_sizes(communication, "algorithm", *scenario.communication.listed, scenario.workload,
              scenario.notes);
  }
  if (scenario.goal && scenario.communication.registering != Registering::kOnce) {
    communication.report("registration", "registration: a program (workload.goal) takes once");
  }
  if (scenario.goal && (communication.has("algorithm") || communication.has("ring_order"))) {
    scenario.notes.emplace_back(
        "A program (workload.goal) says itself who sends to whom: communication.algorithm and "
        "ring_order are of collectives.");
  }
  if ((scenario.training_step || scenario.goal) && chooses(scenario.communication)) {
    communication.report("algorithm", fmt::format("algorithm: {}", kNothingToChoose));
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
  show_axes(reader, scenario);
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
  if (scenario.goal && understood != nullptr) {
    check_goal(*workload, "goal", *scenario.goal, *understood);
  }
  MappingReader communication = reader.mapping("communication");
  const TreeNode* fidelity = tree.find_path("simulation.fidelity");
  const bool tuned = fidelity != nullptr && fidelity->text == "nccl-tuner";
  scenario.communication = read_communication(communication, scenario.workload, understood, tuned);
  if (understood != nullptr) {
    const std::string missing = missing_level(
        scenario.workload.collective, scenario.communication.algorithm, *understood, "the cluster");
    if (!missing.empty()) communication.report("algorithm", missing);
  }
  check_communication(communication, understood != nullptr && problems.empty(), scenario);
  auto& shown = scenario.filled.children;
  if (reader.has("cluster")) shown.splice(shown.end(), shown, std::prev(shown.end(), 2));
  const bool whole = understood != nullptr && problems.empty();
  if (whole) choose_priority(scenario);
  if (whole) choose_transport(scenario);
  if (whole) place_threads(scenario);
  read_simulation(reader.mapping("simulation"), whole, scenario);
  if (whole) check_losses(reader, scenario);
  if (whole) note_idle_keys(scenario);
  read_company(reader, whole && problems.empty(), scenario);
  if (whole && problems.empty()) {
    check_tcp(reader, scenario);
    check_placement_of_jobs(reader, scenario);
  }
  reader.finish();
}

// With its settings applied; nothing where it could not be read, which is reported.
std::optional<TreeNode> changed_tree(const ScenarioRequest& request, const Library& library,
                                     Scenario& scenario, Problems& problems) {
  const auto path = library.find_scenario(request.scenario, problems);
  if (!path) return std::nullopt;
  scenario.file = path->string();
  const Location whole{scenario.file, 0, 0};
  const auto text = read_file(*path, whole, problems);
  auto tree = text ? parse_document(*text, scenario.file, problems) : std::nullopt;
  if (!tree) return std::nullopt;
  scenario.sha256 = sha256(*text);
  unwrap_result(*tree, whole, problems);
  annotate(*tree, problems);
  apply_settings(*tree, request.settings, library, problems);
  return tree;
}

}  // namespace

std::vector<std::string> Scenario::all_notes() const {
  std::vector<std::string> all = notes;
  all.insert(all.end(), model_notes.begin(), model_notes.end());
  return all;
}

PredictionRequest request_of(const Scenario& scenario) {
  PredictionRequest request;
  request.cluster = scenario.cluster;
  request.workload = scenario.workload;
  request.communication = scenario.communication;
  request.jobs = scenario.jobs;
  request.background = scenario.background;
  request.goal = scenario.goal;
  request.fidelity = scenario.fidelity;
  request.seed = scenario.seed;
  return request;
}

Scenario read_scenario(const ScenarioRequest& request) {
  Problems problems;
  Scenario scenario;
  const Library library(request.library);
  auto tree = changed_tree(request, library, scenario, problems);
  if (tree) {
    if (request.one_point) tree->erase("vary");
    library.resolve_all(*tree, problems);
    read_whole(*tree, scenario, problems);
  }
  if (!problems.empty()) throw ConfigError(problems.sorted());
  return scenario;
}

std::vector<SweepAxis> read_axes(const ScenarioRequest& request) {
  Problems problems;
  Scenario scenario;
  const auto tree = changed_tree(request, Library(request.library), scenario, problems);
  std::vector<SweepAxis> axes;
  const TreeNode* const vary = tree ? tree->find("vary") : nullptr;
  if (vary != nullptr) axes = axes_of_tree(*vary, problems);
  if (!problems.empty()) throw ConfigError(problems.sorted());
  return axes;
}

}  // namespace gradhaul
