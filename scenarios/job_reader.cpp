#include "scenarios/job_reader.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/projected_cluster.h"
#include "scenarios/communication_reader.h"
#include "scenarios/listed_algorithm_reader.h"
#include "scenarios/workload_reader.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;

constexpr std::size_t kMostJobs = 1000;

// The scenario's mapping with the keys that a job has of its own put in their place. A job's size
// or model replaces whichever the scenario has, and a model of its own also the datatype.
TreeNode merged(const TreeNode* whole, const TreeNode* own) {
  TreeNode result = whole == nullptr ? TreeNode{} : *whole;
  if (own == nullptr) return result;
  if (result.kind != TreeKind::kMapping) return *own;
  if (own->kind != TreeKind::kMapping) return own->kind == TreeKind::kNull ? result : *own;
  result.location = own->location;
  result.key_location = own->key_location;
  if (own->find("size") != nullptr || own->find("model") != nullptr) {
    const TreeNode* model = result.find("model");
    const TreeNode* datatype = model == nullptr ? nullptr : model->find("gradient_datatype");
    std::optional<TreeNode> kept;
    if (datatype != nullptr && own->find("model") == nullptr) kept = *datatype;
    result.erase("size");
    result.erase("model");
    if (own->find("model") != nullptr) result.erase("datatype");
    if (kept && result.find("datatype") == nullptr) {
      kept->key = "datatype";
      result.children.push_back(*kept);
    }
  }
  for (const TreeNode& child : own->children) {
    result.erase(child.key);
    result.children.push_back(child);
  }
  return result;
}

class JobReader {
 public:
  JobReader(MappingReader& scenario, const Cluster& cluster, std::vector<std::string>& notes)
      : scenario_(scenario), cluster_(cluster), notes_(notes) {}

  std::vector<Job> read(const TreeNode& list, FilledValue& filled, std::uint64_t seed) {
    for (const TreeNode& entry : list.children) read_job(entry, filled);
    if (!scenario_.problems().empty()) return {};
    check_room(list);
    if (!scenario_.problems().empty()) return {};
    const auto placed = place_jobs(cluster_, requests_, seed);
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      jobs_[i].gpus = placed[i];
      check_levels(jobs_[i], algorithms_[i]);
    }
    return std::move(jobs_);
  }

 private:
  void read_job(const TreeNode& entry, FilledValue& filled) {
    FilledValue& shown = filled.children.emplace_back();
    shown.origin.from_default = false;
    shown.origin.location = entry.location;
    MappingReader reader(&entry, entry.location, shown, scenario_.problems(), "a job");
    Job job;
    read_name(reader, job);
    read_placement(reader, job);
    job.start = reader.time("start", {.otherwise = {"0us"}});
    read_workload_of(reader, job);
    read_communication_of(reader, job);
    reader.finish();
    jobs_.push_back(std::move(job));
  }

  void read_name(MappingReader& reader, Job& job) {
    const std::string otherwise = fmt::format("job{}", jobs_.size());
    job.name = reader.text("name", {otherwise});
    if (job.name.empty() || job.name.find_first_of(" \t\r\n") != std::string::npos) {
      reader.report("name", fmt::format("name: \"{}\" is no name for a job: one word, as it is to "
                                        "stand in tables",
                                        job.name));
    }
    if (!names_.insert(job.name).second) {
      reader.report("name", fmt::format("two jobs are called {}", job.name));
    }
  }

  void read_placement(MappingReader& reader, Job& job) {
    JobPlacementRequest& request = requests_.emplace_back();
    const TreeNode* node = reader.node() == nullptr ? nullptr : reader.node()->find("placement");
    if (node != nullptr && node->kind == TreeKind::kSequence) {
      reader.raw("placement");
      read_listed(reader, *node, job, request);
      return;
    }
    constexpr std::array kPlacements{JobPlacement::kPacked, JobPlacement::kScattered,
                                     JobPlacement::kOnePerLeaf};
    request.ranks = static_cast<int>(reader.count("ranks", {.least = 2, .most = cluster_.ranks()}));
    request.placement = kPlacements[reader.choice(
        "placement",
        {.otherwise = {"packed"}, .available = {"packed", "scattered", "one_per_leaf"}})];
    if (request.placement == JobPlacement::kOnePerLeaf &&
        (cluster_.nodes == 1 || cluster_.network.topology.kind == TopologyKind::kBackToBack)) {
      reader.report("placement", "placement: one_per_leaf, and this cluster has no leaves");
    }
  }

  void read_listed(MappingReader& reader, const TreeNode& node, const Job& job,
                   JobPlacementRequest& request) {
    request.placement = JobPlacement::kListed;
    std::vector<std::string> ranks;
    for (const TreeNode& item : node.children) {
      const auto rank =
          item.kind == TreeKind::kScalar ? parse_count(item.text) : Parsed<std::int64_t>{{}, ""};
      if (!rank.value || *rank.value < 0 || *rank.value >= cluster_.ranks()) {
        reader.problems().add(
            item.location,
            fmt::format("placement: \"{}\" is no rank of this cluster; they are called 0 to {}",
                        item.text, cluster_.ranks() - 1));
        continue;
      }
      const auto number = static_cast<Rank>(*rank.value);
      const auto [taken, first] = owners_.emplace(number, job.name);
      if (!first) {
        reader.problems().add(
            item.location,
            taken->second == job.name
                ? fmt::format("placement: rank {} is in the list twice", number)
                : fmt::format("placement: rank {} belongs to job {} already; jobs share links, "
                              "not GPUs",
                              number, taken->second));
        continue;
      }
      ranks.push_back(item.text);
      request.listed.push_back(cluster_.gpu_of(number));
    }
    const auto length = static_cast<std::int64_t>(node.children.size());
    request.ranks = static_cast<int>(length);
    const std::string otherwise = fmt::format("{}", length);
    const std::int64_t given = reader.count("ranks", {.otherwise = {otherwise}, .least = 0});
    if (given != length) {
      reader.report("ranks", fmt::format("ranks: {}, and the placement lists {}", given, length));
    } else if (length < 2) {
      reader.problems().add(node.location, "placement: a job has at least two ranks");
    }
    FilledValue& shown = reader.record("placement", FilledValue::Kind::kList, "", &node);
    for (const std::string& rank : ranks) {
      FilledValue& value = shown.children.emplace_back();
      value.kind = FilledValue::Kind::kInteger;
      value.text = rank;
    }
  }

  // A mapping of the scenario as this job has it.
  struct OwnMapping {
    TreeNode node;
    FilledValue& shown;
  };
  OwnMapping own(MappingReader& reader, std::string_view key) {
    const TreeNode* mine = reader.raw(key);
    const TreeNode* whole = scenario_.node() == nullptr ? nullptr : scenario_.node()->find(key);
    FilledValue& shown = reader.record(key, FilledValue::Kind::kMapping, "", mine);
    TreeNode node = merged(whole, mine);
    node.key = key;
    return {std::move(node), shown};
  }

  void read_workload_of(MappingReader& reader, Job& job) {
    OwnMapping mapping = own(reader, "workload");
    const Location owner = reader.has("workload") ? reader.location("workload") : reader.owner();
    MappingReader workload(&mapping.node, owner, mapping.shown, reader.problems(), "workload");
    job.workload = read_workload(workload, notes_);
    if (workload.good() && job.workload.sizes.size() > 1) {
      workload.report("size", fmt::format("size: job {} has {} sizes, and a job runs one", job.name,
                                          job.workload.sizes.size()));
    }
  }

  void read_communication_of(MappingReader& reader, Job& job) {
    OwnMapping mapping = own(reader, "communication");
    // Rings list the ranks of the job.
    const Cluster ranks_of_job = with_lone_ranks(cluster_, requests_.back().ranks);
    MappingReader communication(&mapping.node, reader.owner(), mapping.shown, reader.problems(),
                                "communication");
    job.communication = read_communication(communication, job.workload, &ranks_of_job, false);
    algorithms_.push_back(communication.location("algorithm"));
    if (job.communication.listed) {
      fit_sizes(communication, "algorithm", *job.communication.listed, job.workload, notes_);
    }
  }

  // Of ranks that are not spread evenly each counts as a node of its own.
  void check_levels(const Job& job, const Location& location) {
    const auto projected = project(cluster_, job.gpus);
    const Cluster seen = projected ? projected->cluster
                                   : with_lone_ranks(cluster_, static_cast<int>(job.gpus.size()));
    const std::string missing = missing_level(job.workload.collective, job.communication.algorithm,
                                              seen, fmt::format("job {}", job.name));
    if (missing.empty()) return;
    scenario_.problems().add(
        location, missing + (projected ? "" : " (its nodes have not the same GPUs of it each)"));
  }

  void check_room(const TreeNode& list) {
    std::int64_t asked = 0;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const std::int64_t free = cluster_.ranks() - asked;
      asked += requests_[i].ranks;
      if (asked <= cluster_.ranks()) continue;
      scenario_.problems().add(
          list.children[i].location,
          fmt::format("jobs: {} asks for {} ranks, and the jobs before it leave {} of the "
                      "cluster's {}",
                      jobs_[i].name, requests_[i].ranks, free, cluster_.ranks()));
      return;
    }
  }

  MappingReader& scenario_;
  const Cluster& cluster_;
  std::vector<std::string>& notes_;
  std::vector<Job> jobs_;
  std::vector<JobPlacementRequest> requests_;
  std::vector<Location> algorithms_;  // where jobs name theirs
  std::set<std::string> names_;
  std::map<Rank, std::string> owners_;  // of listed ranks
};

}  // namespace

std::vector<Job> read_jobs(MappingReader& reader, const Cluster& cluster, std::uint64_t seed,
                           std::vector<std::string>& notes) {
  const TreeNode* list = reader.raw("jobs");
  FilledValue& filled = reader.record("jobs", FilledValue::Kind::kEntries, "", list);
  if (list == nullptr || list->kind == TreeKind::kNull || list->kind == TreeKind::kBroken) {
    return {};
  }
  if (list->kind != TreeKind::kSequence) {
    reader.report("jobs", "\"jobs\" is a list, as - {name: a, ranks: 8, placement: packed}");
    return {};
  }
  if (list->children.size() > kMostJobs) {
    reader.report("jobs", fmt::format("jobs: more than {} of them", kMostJobs));
    return {};
  }
  return JobReader(reader, cluster, notes).read(*list, filled, seed);
}

}  // namespace gradhaul
